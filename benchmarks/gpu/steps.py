"""A training step and the mode of each case: strukt beside the best peer, and the work of the device."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from benchmarks import contest
from benchmarks.contest import Case, Contestant, Family, Operation
from benchmarks.gpu.cases import on_device
from benchmarks.gpu.clock import (
    NO_MEMORY,
    NO_TIME,
    PATIENCE,
    TOO_LONG,
    Budget,
    Measured,
    attempt,
    reason,
    work,
)
from benchmarks.report import duration

HEADER = (
    "case", "training step", "best peer", "speed-up", "other peers", "mode", "best peer", "speed-up", "MiB",
    "launches", "on the device", "of the roofline",
)  # fmt: skip

Result = tuple[str, Measured | str]
"""The name of a library, and its time or the reason why there is none."""


def operations(family: Family) -> tuple[Operation, ...]:
    """Return the timed operations: a training step and the mode, or a mapping with its derivative."""
    return (contest.pull,) if family.operations is contest.MAPPINGS else (contest.step, contest.mode)


def contestants(family: Family, inputs: Sequence[Tensor]) -> list[Contestant]:
    """Return the contestants of a family, strukt first, with their losses of gold structures for these inputs."""
    shaped = (torch.empty(value.shape) for value in inputs)
    structures = family.gold(*shaped).to(inputs[0].device) if family.gold else torch.empty(0)
    return [
        each if each.learn is None else replace(each, loss=contest._learned(each.learn, structures, tuple(inputs)))
        for each in family.contestants
        if not each.yardstick
    ]


class Own(NamedTuple):
    """The times of strukt in one case, or the reasons why they are missing, and the last cells of its row."""

    times: Sequence[Measured | str]
    more: Sequence[str]


def lines(
    family: Family, device: str, budget: Budget, bandwidth: float, told: Callable[[list[str]], None]
) -> Iterator[list[str]]:
    """Yield a row for each case, and then the row again with the times of peers, as far as the budget allows.

    ``told`` is called with each row as soon as it is measured. The row of a case that fails has the reason.
    """
    known: list[tuple[Case, Own]] = []
    for case in family.cases:
        own = _result(alone, family, case, device, budget, bandwidth)
        known += [] if isinstance(own, str) else [(case, own)]
        row = [own] if isinstance(own, str) else cells(own, [[] for _ in own.times])
        yield _row(family, case, row, told)
    for case, own in known:
        peers = _result(of_peers, family, case, device, budget)
        results = [[("peers", peers)]] * len(own.times) if isinstance(peers, str) else peers
        yield _row(family, case, cells(own, results), told)


def _result(
    function: Callable[..., Any], family: Family, case: Case, device: str, budget: Budget, *rest: Any
) -> Any:
    """Call a function; return its result, or the reason why there is none."""
    if budget.is_spent:
        return NO_TIME
    try:
        return function(family, case, device, budget, *rest)
    except Exception as error:
        return reason(error)


def _row(family: Family, case: Case, some: list[str], told: Callable[[list[str]], None]) -> list[str]:
    """Complete the cells of a case to a row of `HEADER`; pass it to ``told`` and return it."""
    row = [f"{family.name} {case.name}", *some]
    row += [""] * (len(HEADER) - len(row))
    told(row)
    return row


def alone(family: Family, case: Case, device: str, budget: Budget, bandwidth: float) -> Own:
    """Measure strukt: its times, its memory, and the work of the device."""
    inputs = on_device(case, device)
    contestant, (operation, *modes) = contestants(family, inputs)[0], operations(family)
    step, *others = (attempt(_action(each, contestant, inputs), budget) for each in (operation, *modes))
    if isinstance(step, str):
        return Own([step, *others], [])
    memory = f"{step.bytes / 2**20:.0f}"
    return Own([step, *others], [memory, *_on_the_device(operation, contestant, inputs, bandwidth)])


def of_peers(family: Family, case: Case, device: str, budget: Budget) -> list[list[Result]]:
    """Measure all peers for each operation, each for `PATIENCE` seconds at most."""
    inputs = on_device(case, device)
    peers = contestants(family, inputs)[1:]
    return [
        [(peer.name, attempt(_action(operation, peer, inputs), budget, PATIENCE)) for peer in peers]
        for operation in operations(family)
    ]


def cells(own: Own, peers: Sequence[Sequence[Result]]) -> list[str]:
    """Return the cells of one case under `HEADER`, without the first, and without empty ones at the end."""
    (step, *modes), (first, *rest) = own.times, peers
    row = beside(step, first, others=True)
    for mode, found in zip(modes, rest, strict=True):
        row += beside(mode, found, others=False)
    return [*row, *([] if modes else ["", "", ""]), *own.more]


def _on_the_device(
    operation: Operation, contestant: Contestant, inputs: tuple[Tensor, ...], bandwidth: float
) -> list[str]:
    """Return launches, their time, and the share of the roofline; only the error if the profiler does not work."""
    try:
        done = work(_action(operation, contestant, inputs))
    except Exception as error:
        return [reason(error)]
    moved = 2 * sum(value.numel() * value.element_size() for value in inputs)  # scores are read, gradients written
    share = f"{100 * moved / bandwidth / done.seconds:.0f} %" if done.seconds else ""
    return [str(done.launches), duration(done.seconds) if done.seconds else "", share]


def beside(own: Measured | str, peers: Sequence[Result], others: bool) -> list[str]:
    """Return cells: the times of strukt and the best peer, their ratio and, if ``others``, the other peers."""
    timed = sorted((found.seconds, name) for name, found in peers if isinstance(found, Measured))
    rest = [f"{name} {duration(seconds)}" for seconds, name in timed[1:]]
    rest += [f"{name}: {found}" for name, found in peers if isinstance(found, str) and found in _SAID]
    best = f"{duration(timed[0][0])} ({timed[0][1]})" if timed else "-"
    times = f"{timed[0][0] / own.seconds:.1f}" if timed and isinstance(own, Measured) else ""
    mine = own.replace("NotImplementedError", "-") if isinstance(own, str) else duration(own.seconds)
    return [mine, best, times, *([", ".join(rest)] if others else [])]


_SAID = {NO_MEMORY, NO_TIME, TOO_LONG}
"""The reasons that are shown; others mean that a library is not installed, or lacks the operation."""


def _action(operation: Operation, contestant: Contestant, inputs: tuple[Tensor, ...]) -> Callable[[], object]:
    return lambda: operation(contestant, inputs)


def told(row: Sequence[str]) -> None:
    """Print a row to standard error at once."""
    print("   ".join(row), file=sys.stderr, flush=True)
