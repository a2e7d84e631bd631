"""The section of a page about GPUs: all tables, measured within a budget of seconds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date

import torch

from benchmarks.gpu import compiled, mappings, mean_field, operators, share, steps
from benchmarks.gpu.cases import FAMILIES
from benchmarks.gpu.clock import Budget, bandwidth, barriers, reason
from benchmarks.page import publish, require_section
from benchmarks.report import duration, label, table

SECONDS = 540.0
"""The default budget, with which all measurements end within ten minutes."""

SECTION = "gpu"

Lines = Callable[[str, Budget, Callable[[list[str]], None]], Iterator[list[str]]]

TABLES: dict[str, tuple[str, Sequence[str], Lines]] = {
    "operators": (
        "Other operators, as multiples of the log-partition with its gradient:", operators.HEADER, operators.lines,
    ),
    "mappings": ("Mappings, and the share of the speed of copies:", mappings.HEADER, mappings.lines),
    "share": ("A training step of 2,500 words in bfloat16, on the CPU in float32:", share.HEADER, share.lines),
    "mean-field": (
        "Mean-field attention with its gradient in bfloat16, beside a Transformer of its sizes:",
        mean_field.HEADER, mean_field.lines,
    ),
    "compiled": (
        "The log-partition of one item with its gradient, beside the reference under `torch.compile`:",
        compiled.HEADER, compiled.lines,
    ),
}  # fmt: skip
"""Further tables by name: a sentence about each, its header, and the function that yields its rows."""


def chosen(names: Sequence[str]) -> list[str]:
    """Return the families and tables with these names, in the order of the page; all if there are no names.

    Raises:
        ValueError: If there is no such family or table.
    """
    known = [*(family.name for family in FAMILIES), *TABLES]
    if unknown := set(names) - set(known):
        raise ValueError(f"unknown {', '.join(sorted(unknown))}; expected some of {', '.join(known)}")
    return [name for name in known if name in names or not names]


def report(names: Sequence[str], seconds: float, output: str | None) -> None:
    """Measure, print, and replace a section of the page, even if the command is interrupted.

    Args:
        names: The families and tables to measure; all if empty.
        seconds: The budget; measurements that would begin later are left out.
        output: The page; None to print only.

    Raises:
        ValueError: If there is no such family or table.
        RuntimeError: If PyTorch sees no GPU.
        PageError: If the page has no section for the results.
    """
    requested = chosen(names)
    if not torch.cuda.is_available():
        raise RuntimeError("PyTorch sees no GPU; run `strukt doctor` for the reason")
    require_section(SECTION, output)
    text = ""
    try:
        for page in pages(requested, Budget(seconds), "cuda"):
            text = page
    finally:
        if text:
            publish(text, SECTION, output)


def pages(requested: Sequence[str], budget: Budget, device: str) -> Iterator[str]:
    """Yield the section of these families and tables after each new row."""
    speed, floor = bandwidth(device), _floor(device)
    page = (
        f"Measured on {date.today().isoformat()}: {torch.cuda.get_device_name()}, torch {torch.__version__}, "
        f"{label('strukt')}. A copy on the device moves {speed / 1e12:.2f} TB/s, read plus written; {floor}."
    )
    yield page
    families = [family for family in FAMILIES if family.name in requested]
    tables = [TABLES[name] for name in requested if name in TABLES]
    cases: dict[str, list[str]] = {}
    whole = page
    for place, family in enumerate(families):
        part = budget.share(len(families) - place + len(tables))
        for row in steps.lines(family, device, part, speed, steps.told):
            cases[row[0]] = row
            whole = f"{page}\n\n{table(steps.HEADER, cases.values())}"
            yield whole
    for place, (title, header, lines) in enumerate(tables):
        page, rows = f"{whole}\n\n{title}", list[list[str]]()
        try:
            for row in lines(device, budget.share(len(tables) - place), steps.told):
                rows.append(row)
                whole = f"{page}\n\n{table(header, rows)}"
                yield whole
        except Exception as error:  # the other tables are still measured
            whole = f"{whole if rows else page}\n\n(ended by {reason(error)})"
            yield whole


def _floor(device: str) -> str:
    try:
        return f"a kernel that only passes 512 barriers takes {duration(barriers(device))}"
    except Exception as error:  # Triton may be absent, or broken in many ways
        return f"barriers could not be timed ({type(error).__name__})"
