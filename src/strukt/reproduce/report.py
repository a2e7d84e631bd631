"""Reports on tables: the list of tables, and our scores next to the published and recorded scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import mean

from strukt.reproduce.results import Results, Run, recorded, spread, summary
from strukt.reproduce.table import Published, Row, Table

NONE = "–"


def overview(tables: Iterable[Table]) -> list[Sequence[str]]:
    """Return a header, and a row of cells for each table.

    Args:
        tables: The tables to list.
    """
    head = ("table", "rows", "recorded", "minutes", "quick", "title, source")
    rows = [head, *map(_overview, tables)]
    width = max(len(row[-1]) for row in rows)
    return [(*row[:-1], row[-1].ljust(width)) for row in rows]


def _overview(table: Table) -> Sequence[str]:
    """Return the row of `overview` for a table."""
    runs, short = (recorded(table.name, quick) for quick in (False, True))
    return (
        table.name,
        str(len(table.rows)),
        str(sum(bool(runs.of(row)) for row in table.rows)),
        total_minutes(table, runs),
        total_minutes(table, short),
        f"{table.title}: {table.source}",
    )


def total_minutes(table: Table, known: Results) -> str:
    """Format the total of the expected minutes of all rows, for one seed; a plus marks rows of unknown minutes.

    Args:
        table: The table.
        known: The recorded results of the table, or of its quick version.
    """
    each = [expected_minutes(row, known) for row in table.rows]
    expected = [number for number in each if number is not None]
    return f"{minutes(sum(expected))}{'+' if len(expected) < len(each) else ''}" if expected else NONE


def comparison(table: Table, rows: Iterable[Row], results: Results) -> list[Sequence[str]]:
    """Return a header, and cells with our, the published and the recorded scores of each row.

    Args:
        table: The published table.
        rows: The rows of the table to show.
        results: Our results for the table.
    """
    known = recorded(table.name, results.quick)
    head = (table.title, "test", "dev", "paper", "recorded test", "dev", "seeds", "minutes")
    return [head, *(_compared(row, results.of(row), known.of(row)) for row in rows)]


def _compared(row: Row, ours: Sequence[Run], known: Sequence[Run]) -> Sequence[str]:
    """Return the cells of `comparison` for a row, from our runs and from the recorded runs."""
    return (
        f"{row.name}: {row.title}",
        score(row.metric, (run.test for run in ours)),
        score(row.metric, (run.development for run in ours)),
        paper(row.paper),
        score(row.metric, (run.test for run in known)),
        score(row.metric, (run.development for run in known)),
        seeds(ours),
        minutes(mean_minutes(ours)),
    )


def score(metric: str, measured: Iterable[Mapping[str, float]]) -> str:
    """Format the mean and standard deviation of a score over runs; runs without the score are left out.

    Examples:
        >>> score("f1", [{"f1": 80.0}, {"f1": 82.0}, {}]), score("f1", [])
        ('81 ± 1.4', '–')
    """
    return summary(scores[metric] for scores in measured if metric in scores)


def seeds(runs: Iterable[Run]) -> str:
    """Format the seeds of runs, in ascending order."""
    return ", ".join(str(seed) for seed in sorted(run.seed for run in runs)) or NONE


def paper(number: Published | None) -> str:
    """Format a published number, with its corpus if it is not the corpus of the row.

    Examples:
        >>> paper(Published(84.6, 2.06)), paper(Published(62.86, 0.4, "PTB")), paper(None)
        ('84.6 ± 2.1', '62.86 ± 0.4 (PTB)', '–')
    """
    if number is None:
        return NONE
    corpus = f" ({number.corpus})" if number.corpus else ""
    return spread(number.mean, number.deviation) + corpus


def mean_minutes(runs: Iterable[Run]) -> float | None:
    """Return the mean training time of runs in minutes, leaving out unknown times; None if all are unknown."""
    known = [run.minutes for run in runs if run.minutes is not None]
    return mean(known) if known else None


def expected_minutes(row: Row, known: Results) -> float | None:
    """Return the mean training time of the recorded runs of a row in minutes; without any, the estimate, or None.

    Args:
        row: The row.
        known: The recorded results of its table, or of the quick version.
    """
    measured = mean_minutes(known.of(row))
    return row.version(known.quick).minutes if measured is None else measured


def minutes(number: float | None) -> str:
    """Format minutes, with one decimal below ten.

    Examples:
        >>> minutes(1.54), minutes(133.0), minutes(None)
        ('1.5', '133', '–')
    """
    if number is None:
        return NONE
    return f"{number:.1f}" if number < 10 else f"{number:.0f}"
