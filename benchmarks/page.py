"""The page of results: each program replaces its own section and leaves the rest as it is."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Callable
from datetime import date
from importlib.metadata import version
from pathlib import Path

import torch


class PageError(Exception):
    """The error of a page without a place for the results."""


def machine(threads: int) -> str:
    """Return a sentence with the date, the processor, the versions and the load with which numbers are measured.

    Call it before measuring, so that the load is that of other programs. On a busy machine, libraries whose
    threads wait for each other slow down far more than others.
    """
    return (
        f"Measured on {date.today().isoformat()}: {processor()}, {os.cpu_count()} cores, "
        f"{threads} thread{'s' if threads > 1 else ''}, "
        f"load of other programs {os.getloadavg()[0]:.1f}; "
        f"Python {platform.python_version()}, torch {torch.__version__}, strukt {version('strukt')}."
    )


def processor() -> str:
    """Return the name of the processor, from /proc if it exists."""
    information = Path("/proc/cpuinfo")
    lines = information.read_text().splitlines() if information.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def section_command(program: str, section: str, description: str | None, report: Callable[[], str]) -> None:
    """Parse the command line of a program, measure with one thread, print, and replace the program's section."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{program}", description=description)
    parser.add_argument("--output", help=f"page whose section '{section}' is replaced")
    output = parser.parse_args().output
    torch.set_num_threads(1)
    try:
        require_section(section, output)
        publish(f"{machine(1)}\n\n{report()}", section, output)
    except PageError as error:
        sys.exit(str(error))


def require_section(section: str, output: str | None) -> None:
    """Check before measuring that the page has the section; raises as `around_section`."""
    if output:
        around_section(Path(output), section)


def publish(text: str, section: str, output: str | None) -> None:
    """Print the results; also write them to a section of the page `output`, unless it is None."""
    print(text)
    if output:
        replace_section(Path(output), section, text)
        print(f"section '{section}' of {output} replaced", file=sys.stderr)


def replace_section(page: Path, section: str, text: str) -> None:
    """Write `text` between `<!-- NAME: begin -->` and `<!-- NAME: end -->`; raises as `around_section`."""
    before, after = around_section(page, section)
    beside = page.with_name(page.name + ".new")
    beside.write_text(f"{before}\n{text}\n{after}")
    beside.replace(page)


def around_section(page: Path, section: str) -> tuple[str, str]:
    """Return the text of a page before and after a section, including the marks of its beginning and end.

    Raises:
        PageError: If the page does not exist, or lacks one of the marks.
    """
    begin, end = f"<!-- {section}: begin -->", f"<!-- {section}: end -->"
    content = page.read_text() if page.exists() else ""
    before, has_begin, rest = content.partition(begin)
    _, has_end, after = rest.partition(end)
    if not (has_begin and has_end):
        raise PageError(f"{page} needs the lines '{begin}' and '{end}', between which the results go")
    return before + begin, end + after
