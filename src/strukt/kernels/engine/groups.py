"""Items of a batch grouped by size and ring, and calls of kernels on them, in threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.engine.items import EXTENDED, PLAIN
from strukt.kernels.engine.tables import Table
from strukt.kernels.interpreted import current
from strukt.kernels.jit import thread_count
from strukt.kernels.threads import run

Groups = list[tuple[Table, Array]]
"""The type of groups: tables, each with the indices of the items of its size, ``(count,)``."""

EXTENDED_RING = np.empty(0, np.int64)
"""The ring argument of kernels for extended numbers."""

RINGS = ((PLAIN, None), (EXTENDED, EXTENDED_RING))
"""The rings, as charts store them, each with the ring argument of kernels."""


def by_ring(groups: Groups, kinds: Array) -> list[tuple[Groups, Array | None]]:
    """Return the groups of the items in each ring, plain numbers first, with the ring argument of kernels.

    Impossible items are left out. ``kinds (batch,)`` has the ring of each item, as in charts
    (`strukt.kernels.engine.items`).
    """
    if kinds.tolist().count(PLAIN) == len(kinds):
        return [(groups, None)]
    return [(of_kind(groups, kinds, kind), ring) for kind, ring in RINGS]


def of_kind(groups: Groups, kinds: Array, kind: float) -> Groups:
    """Return the groups with only the items of one ring, such as `PLAIN`; ``kinds (batch,)`` are those of all."""
    chosen = ((table, each[kinds[each] == kind]) for table, each in groups)
    return [(table, each) for table, each in chosen if len(each)]


def work(groups: Groups) -> int:
    """Return the total number of terms in the programs of all items."""
    return sum(table.terms * len(each) for table, each in groups)


def on_items(kernel: Callable[..., None], groups: Groups, *arguments: Any) -> None:
    """Call ``kernel(table, items, *arguments)`` for all groups, with the items of each divided among threads."""
    if not groups:
        return
    kernel = current(kernel)
    threads = thread_count(sum(len(each) for _, each in groups), work(groups))

    def visit(thread: int) -> None:
        for table, each in groups:
            kernel(table, each[thread::threads], *arguments)

    over(visit, threads)


def over(task: Callable[[int], None], threads: int) -> None:
    """Call ``task(thread)`` on each of ``threads`` threads."""
    if threads == 1:
        task(0)
    elif threads > 1:
        run(task, threads)
