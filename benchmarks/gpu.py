"""Times of structures on a GPU: ours, and those of the peers that can be imported."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date
from typing import Any

import torch
from torch import Tensor

from benchmarks import chain, constituency, contest, ctc, dependency, segmentation
from benchmarks.contest import Case, Contestant, Family
from benchmarks.report import duration, table

SECONDS = 0.1
"""Of one measurement, after the first two calls."""

FAMILIES = (
    replace(
        chain.FAMILY,
        cases=(chain.case(32, 128, 32), chain.case(256, 512, 64), chain.case(8, 1000, 16), chain.case(1, 20,
        10)),
    ),
    replace(
        segmentation.FAMILY, cases=(segmentation.case(8, 128, 8, 16), segmentation.case(32, 1024, 16, 24))
    ),
    replace(
        dependency.PROJECTIVE,
        cases=tuple(dependency.case(*size, charts=2) for size in ((16, 40), (128, 50), (32, 120), (1, 20))),
    ),
    replace(
        constituency.FAMILY,
        cases=(
            constituency.case(16, 40, 32), constituency.case(64, 60, 64), constituency.case(4, 100, 32),
            constituency.case(1, 20, 10),
        ),
    ),
    replace(ctc.FAMILY, cases=(ctc.case(16, 200, 32), ctc.case(128, 600, 128), ctc.case(1, 20, 10))),
)  # fmt: skip



def without_gradient(distribution: Any) -> Tensor:
    """Max-marginals, which the reference finds where a gradient is asked for."""
    with torch.no_grad():
        found: Tensor = distribution.max_marginals
    return found


QUESTIONS: tuple[tuple[str, Callable[[Any], Any]], ...] = (
    ("gradient of marginals", lambda d: d.marginals),
    ("entropy", lambda d: d.entropy()),
    ("max_marginals", without_gradient),
    ("mode", lambda d: d.mode),
    ("100 samples", lambda d: d.sample((100,))),
)


def measured(action: Callable[[], Any]) -> tuple[float, int]:
    """Median seconds of a call with its wait for the device, and the most bytes it takes besides its inputs."""
    for _ in range(2):
        start = time.perf_counter()
        action()
        torch.cuda.synchronize()
        first = time.perf_counter() - start
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    spent: list[float] = []
    end = time.perf_counter() + SECONDS
    while len(spent) < (3 if first < 1 else 1) or time.perf_counter() < end:
        start = time.perf_counter()
        action()
        torch.cuda.synchronize()
        spent.append(time.perf_counter() - start)
    return statistics.median(spent), torch.cuda.max_memory_allocated() - before


def contestants(family: Family, case: Case, device: str) -> Iterator[Contestant]:
    """Those of a family that have losses, with these on the device."""
    inputs = case.inputs()
    structures = family.gold(*inputs).to(device) if family.gold else torch.empty(0)
    on_device = tuple(value.to(device) for value in inputs)
    for each in family.contestants:
        if each.learn is not None:
            yield replace(each, loss=contest._learned(each.learn, structures, on_device))


def cell(
    contestant: Contestant, operation: contest.Operation, inputs: tuple[Tensor, ...]
) -> tuple[float, int] | str:
    """Seconds and bytes of one call, or the error that it ends in."""
    try:
        return measured(lambda: operation(contestant, inputs))
    except Exception as error:
        torch.cuda.empty_cache()
        return type(error).__name__


def rows(family: Family, device: str) -> Iterator[list[str]]:
    """A row for each case and contestant: a training step and the mode, beside ours."""
    for case in family.cases:
        inputs, own = tuple(value.to(device) for value in case.inputs()), {}
        for contestant in contestants(family, case, device):
            line, memory = [f"{family.name} {case.name}", contestant.name], ""
            for name, operation in (("step", contest.step), ("mode", contest.mode)):
                found = cell(contestant, operation, inputs)
                if isinstance(found, str):
                    line += [found, ""]
                    continue
                own.setdefault(name, found[0])
                line += [duration(found[0]), f"{found[0] / own[name]:.1f}"]
                memory = memory or f"{found[1] / 2**20:.0f}"
            line.append(memory)
            print("   ".join(line), file=sys.stderr, flush=True)
            yield line


def question_rows(device: str) -> Iterator[list[str]]:
    """Times of other questions as multiples of a log-partition with its gradient."""
    from benchmarks.structures import of_targets
    from strukt import distributions

    for build, case in (
        (distributions.LinearChain, chain.case(32, 128, 32)),
        (distributions.SemiMarkov, segmentation.case(8, 128, 8, 16)),
        (distributions.ProjectiveTree, dependency.case(16, 40, charts=2)),
        (distributions.SpanTree, constituency.case(16, 40, 32)),
        (of_targets, ctc.case(16, 200, 32)),
    ):
        inputs = tuple(value.to(device).requires_grad_() for value in case.inputs())

        def gradient(question: Callable[[Any], Any], build: Any = build, inputs: Any = inputs) -> Any:
            value = question(build(*inputs))
            return torch.autograd.grad(value.square().sum(), inputs) if value.requires_grad else value

        one, _ = measured(lambda gradient=gradient: gradient(lambda d: d.log_partition))
        line = [getattr(build, "__name__", ""), case.name, duration(one)]
        for _, question in QUESTIONS:
            spent, _ = measured(lambda gradient=gradient, question=question: gradient(question))
            line.append(f"{spent / one:.1f}")
        print("   ".join(line), file=sys.stderr, flush=True)
        yield line


def report(device: str = "cuda") -> str:
    """Both tables."""
    card = f"{torch.cuda.get_device_name()}, torch {torch.__version__}"
    header = ["", "", "training step", "times", "mode", "times", "MiB of the step"]
    first = table(header, [line for family in FAMILIES for line in rows(family, device)])
    header = ["", "", "gradient", *(name for name, _ in QUESTIONS)]
    second = table(header, list(question_rows(device)))
    return f"Measured on {date.today().isoformat()}: {card}.\n\n{first}\n\n{second}"


def main() -> None:
    """Measures and prints."""
    if not torch.cuda.is_available():
        sys.exit("PyTorch sees no GPU")
    print(report())


if __name__ == "__main__":
    main()
