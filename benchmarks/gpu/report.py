"""The section of a page on GPUs: everything that is measured, within a budget of seconds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date

import torch

from benchmarks.gpu import mappings, operators, share, steps
from benchmarks.gpu.cases import FAMILIES
from benchmarks.gpu.clock import Budget, bandwidth, barriers
from benchmarks.page import publish, require_section
from benchmarks.report import duration, label, table

SECONDS = 540.0
"""For everything; less than ten minutes with what is begun by then."""

SECTION = "gpu"

Lines = Callable[[str, Budget, Callable[[list[str]], None]], Iterator[list[str]]]

TABLES: dict[str, tuple[str, Sequence[str], Lines]] = {
    "operators": (
        "Other operators, as multiples of the log-partition with its gradient:", operators.HEADER, operators.lines,
    ),
    "mappings": ("Mappings, and the share of the speed of copies:", mappings.HEADER, mappings.lines),
    "share": ("A training step of 2,500 words in bfloat16:", share.HEADER, share.lines),
}  # fmt: skip
"""Further tables by name: a sentence about each, its header, and the function that yields its rows."""


def chosen(names: Sequence[str]) -> list[str]:
    """The families and tables of these names; all if there are none.

    Raises:
        ValueError: There is no such family or table.
    """
    known = [*(family.name for family in FAMILIES), *TABLES]
    if unknown := set(names) - set(known):
        raise ValueError(f"unknown {', '.join(sorted(unknown))}; expected some of {', '.join(known)}")
    return [name for name in known if name in names or not names]


def report(names: Sequence[str], seconds: float, output: str | None) -> None:
    """Measure, print, and replace the section of a page if there is one.

    Args:
        names: As `chosen` takes them.
        seconds: For everything; what has not begun by then is left out.
        output: The page.

    Raises:
        ValueError: There is no such family or table.
        RuntimeError: PyTorch sees no GPU.
        PageError: The page has no section for the results.
    """
    wanted = chosen(names)
    if not torch.cuda.is_available():
        raise RuntimeError("PyTorch sees no GPU; run `strukt doctor` for the reason")
    require_section(SECTION, output)
    publish("\n\n".join(parts(wanted, Budget(seconds))), SECTION, output)


def parts(wanted: Sequence[str], budget: Budget) -> Iterator[str]:
    """The paragraphs and tables of these families and tables, as they are measured."""
    speed, floor = bandwidth(), _floor()
    yield (
        f"Measured on {date.today().isoformat()}: {torch.cuda.get_device_name()}, torch {torch.__version__}, "
        f"{label('strukt')}. A copy on the device moves {speed / 1e12:.2f} TB/s, read plus written; {floor}."
    )
    families = [family for family in FAMILIES if family.name in wanted]
    rows = [row for family in families for row in steps.lines(family, "cuda", budget, speed, steps.told)]
    if rows:
        yield table(steps.HEADER, rows)
    for title, header, lines in (TABLES[name] for name in wanted if name in TABLES):
        if not budget.is_spent:
            yield f"{title}\n\n{table(header, lines('cuda', budget, steps.told))}"


def _floor() -> str:
    try:
        return f"a kernel that only passes 512 barriers takes {duration(barriers())}"
    except Exception as error:  # Triton may be absent, or broken in many ways
        return f"barriers could not be timed ({type(error).__name__})"
