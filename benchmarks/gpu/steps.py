"""A training step and the mode of each case: strukt beside the best peer, and what the device does for it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from benchmarks import contest
from benchmarks.contest import Case, Contestant, Family, Operation
from benchmarks.gpu.cases import on_device
from benchmarks.gpu.clock import Budget, Measured, attempt, work
from benchmarks.report import duration

HEADER = (
    "", "training step", "best peer", "times", "other peers", "mode", "best peer", "times", "MiB", "launches",
    "on the device", "of the roofline",
)  # fmt: skip

Result = tuple[str, Measured | str]


def operations(family: Family) -> tuple[Operation, ...]:
    """What is timed: a training step and the mode, or a mapping with its derivative."""
    return (contest.pull,) if family.operations is contest.MAPPINGS else (contest.step, contest.mode)


def contestants(family: Family, inputs: Sequence[Tensor]) -> list[Contestant]:
    """The contestants of a family, those that learn with the structures of the inputs; strukt first."""
    shaped = (torch.empty(value.shape) for value in inputs)
    structures = family.gold(*shaped).to(inputs[0].device) if family.gold else torch.empty(0)
    return [
        each if each.learn is None else replace(each, loss=contest._learned(each.learn, structures, tuple(inputs)))
        for each in family.contestants
        if not each.yardstick
    ]


def lines(
    family: Family, device: str, budget: Budget, bandwidth: float, told: Callable[[list[str]], None]
) -> Iterator[list[str]]:
    """A row of cells for each case; ``told`` gets each as soon as it is measured."""
    for case in family.cases:
        if budget.is_spent:
            return
        row = line(family, case, device, budget, bandwidth)
        told(row)
        yield row


def line(family: Family, case: Case, device: str, budget: Budget, bandwidth: float) -> list[str]:
    """The cells of one case, as `HEADER` names them."""
    inputs = on_device(case, device)
    everyone, (operation, *modes) = contestants(family, inputs), operations(family)
    (_, step), *peers = [(each.name, attempt(_action(operation, each, inputs), budget)) for each in everyone]
    cells = [f"{family.name} {case.name}", *beside(step, peers, others=True)]
    for mode in modes:
        (_, own), *peers = [(each.name, attempt(_action(mode, each, inputs), budget)) for each in everyone]
        cells += beside(own, peers, others=False)
    if not modes:
        cells += ["", "", ""]
    if isinstance(step, str):
        return [*cells, "", "", "", ""]
    done = work(_action(operation, everyone[0], inputs))
    moved = 2 * sum(value.numel() * value.element_size() for value in inputs)  # scores are read, gradients written
    return [
        *cells, f"{step.bytes / 2**20:.0f}", str(done.launches), duration(done.seconds),
        f"{100 * moved / bandwidth / done.seconds:.0f} %",
    ]  # fmt: skip


def beside(own: Measured | str, peers: Sequence[Result], others: bool) -> list[str]:
    """Cells for the time of strukt, the best peer and how many times as long it takes, and the others if asked."""
    timed = sorted((found.seconds, name) for name, found in peers if isinstance(found, Measured))
    rest = [f"{name} {duration(seconds)}" for seconds, name in timed[1:]]
    rest += [f"{name}: {found}" for name, found in peers if isinstance(found, str) and found in _SAID]
    best = f"{duration(timed[0][0])} ({timed[0][1]})" if timed else "-"
    times = f"{timed[0][0] / own.seconds:.1f}" if timed and isinstance(own, Measured) else ""
    mine = own.replace("NotImplementedError", "-") if isinstance(own, str) else duration(own.seconds)
    return [mine, best, times, *([", ".join(rest)] if others else [])]


_SAID = {"out of memory", "no time left"}
"""Reasons that are shown; all others mean that a library is not installed, or lacks this."""


def _action(operation: Operation, contestant: Contestant, inputs: tuple[Tensor, ...]) -> Callable[[], object]:
    return lambda: operation(contestant, inputs)


def told(row: Sequence[str]) -> None:
    """Print a row to standard error at once."""
    print("   ".join(row), file=sys.stderr, flush=True)
