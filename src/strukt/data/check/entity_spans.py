"""Checking entities: notes of CoNLL-U, layers of BIO labels, and JSON lines.

Each check reads a source, adds its problems to a report, and counts the sentences without problems there.
"""

from __future__ import annotations

from collections.abc import Iterable

from strukt.data.check.report import Report
from strukt.data.conllu import entity_notes
from strukt.data.entities import (
    Sentence,
    depths,
    entity_problems,
    json_lines,
    layers,
    partial_entity_problems,
)
from strukt.data.files import Source


def check_conllu(source: Source, report: Report, partial: bool = False) -> None:
    """Check the `Entity=` notes of CoNLL-U; with ``partial``, there may be entities that are not annotated."""
    _check(entity_notes.read(source, report.add), report, partial)


def check_columns(source: Source, report: Report, partial: bool = False) -> None:
    """Check layers of BIO labels; with ``partial``, there may be entities that are not annotated."""
    _check(layers.read(source, report.add), report, partial)


def check_json_lines(source: Source, report: Report, partial: bool = False) -> None:
    """Check entities in JSON lines; with ``partial``, there may be entities that are not annotated."""
    _check(json_lines.read(source, report.add), report, partial)


def _check(sentences: Iterable[Sentence], report: Report, partial: bool) -> None:
    """Collect the problems of a corpus; count the sentences without problems, and their entities.

    With ``partial``, there may be entities that are not annotated.
    """
    problems = partial_entity_problems if partial else entity_problems
    for sentence in sentences:
        if report.accepts(sentence, problems(sentence)):
            nesting = depths(sentence.entities)
            report.count_labels("type", (entity.label for entity in sentence.entities))
            report.counts["entities"] += len(nesting)
            report.counts["nested entities"] += sum(depth > 0 for depth in nesting)
            report.counts["deepest nesting"] = max([report.counts["deepest nesting"], *nesting])
