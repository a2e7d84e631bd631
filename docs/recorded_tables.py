"""The tables of pages that show recorded results; `python docs/recorded_tables.py` rewrites them.

Each table is between two comments. `<!-- recorded cogs -->` begins the table `cogs` of `strukt reproduce`, and
`<!-- learned cogs sorting -->` a table of the scores of quick versions, of one or several such tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from strukt.reproduce import table as tables
from strukt.reproduce.report import NONE, mean_minutes, minutes, paper, score, seeds
from strukt.reproduce.results import Run, recorded, summary
from strukt.reproduce.table import Row, Table

DOCS = Path(__file__).parent
BLOCK = re.compile(r"<!-- (recorded|learned) ([\w -]+) -->\n.*?<!-- end -->", re.DOTALL)
CONFIGURATION = re.compile(r"--config published/(\S+)")


def comparison(name: str) -> str:
    """Return a table of `strukt reproduce`, with its title, a description, and the machines of its runs."""
    table = tables.load(name)
    full, quick = recorded(name, quick=False), recorded(name, quick=True)
    head = (
        "row",
        "",
        "published",
        "recorded",
        "seeds",
        "minutes",
        "quick version",
        "settings tried",
        "remarks",
    )
    rows = [
        (
            f"`{row.name}`",
            row.title,
            shown(paper(row.paper)),
            shown(score(row.metric, (run.test for run in full.of(row)))),
            shown(seeds(full.of(row))),
            duration(row, full.of(row)),
            shown(score(row.metric, (run.test for run in quick.of(row)))),
            str(row.trials or ""),
            remarks(row, full.of(row)),
        )
        for row in table.rows
    ]
    shown_runs = [*full.runs, *(run for run in quick.runs if run.test)]
    return "\n\n".join(filter(None, (f"{table.title}. {table.about}", markdown(head, rows), machines(shown_runs))))


def learned(names: str) -> str:
    """Return a table of the scores that published configurations reach in minutes on development corpora."""
    head = ("`published/`", "table", "measure", "after one epoch", "at the end", "minutes", "remarks")
    rows = [cells for name in names.split() for cells in _learned(tables.load(name))]
    return markdown(head, rows)


def _learned(table: Table) -> Iterator[Sequence[str]]:
    """Yield the cells of each recorded quick run that trains a published configuration."""
    runs = recorded(table.name, quick=True)
    for row in table.rows:
        configuration = CONFIGURATION.search(row.command(1, quick=True))
        for run in runs.of(row) if configuration else ():
            measure = row.metric if row.metric in run.development else next(iter(run.development))
            yield (
                f"`{configuration[1]}`",
                f"`{table.name}`",
                measure,
                summary([run.first_epoch[measure]]),
                summary([run.development[measure]]),
                "" if run.minutes is None else minutes(run.minutes),
                run.note,
            )


def duration(row: Row, runs: Sequence[Run]) -> str:
    """Return the mean minutes of recorded runs; if none are recorded, the estimate, after the sign "≈"."""
    measured = mean_minutes(runs)
    if measured is None and row.full.minutes is not None:
        return f"≈ {row.full.minutes:g}"
    return shown(minutes(measured))


def remarks(row: Row, runs: Iterable[Run]) -> str:
    """Return the notes on a row and on its runs."""
    return "; ".join(
        dict.fromkeys(part.rstrip(".") for part in (row.note, *(run.note for run in runs)) if part)
    )


def machines(runs: Sequence[Run]) -> str:
    """Return a sentence on where and when runs were recorded; empty without runs."""
    if not runs:
        return ""
    places = " and ".join(dict.fromkeys(run.machine for run in runs))
    versions = ", ".join(
        dict.fromkeys(f"{name} {version}" for run in runs for name, version in run.versions.items())
    )
    dates = {run.date for run in runs}
    days = sorted(dates - {""})
    when = ""
    if days:
        when = f"; on {days[0]}" if len(days) == 1 else f"; from {days[0]} to {days[-1]}"
        when += ", some runs without a date" if "" in dates else ""
    return f"Recorded on {places} ({versions}{when})."


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown, without columns that are empty in all rows."""
    kept = [column for column, _ in enumerate(head) if any(row[column] for row in rows)]
    lines = [[row[column] for column in kept] for row in (head, ["---"] * len(head), *rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def shown(cell: str) -> str:
    """Return a cell, or an empty string in place of a dash, which marks a missing value."""
    return "" if cell == NONE else cell


def updated(text: str) -> str:
    """Return a page with its tables rewritten from the recorded results."""
    write = {"recorded": comparison, "learned": learned}

    def block(match: re.Match[str]) -> str:
        kind, names = match.groups()
        return f"<!-- {kind} {names} -->\n{write[kind](names)}\n<!-- end -->"

    return BLOCK.sub(block, text)


def pages() -> list[Path]:
    """Return the pages that have such tables."""
    return [path for path in sorted(DOCS.rglob("*.md")) if BLOCK.search(path.read_text(encoding="utf-8"))]


if __name__ == "__main__":
    for path in pages():
        path.write_text(updated(path.read_text(encoding="utf-8")), encoding="utf-8")
