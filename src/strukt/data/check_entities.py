"""What is wrong with a corpus of entities, and what is in it; a part of `check`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from strukt.data import conllu_entities, json_lines, layers
from strukt.data.entities import Sentence, depths, entity_problems
from strukt.data.files import Source
from strukt.data.problems import Report as Tell

if TYPE_CHECKING:
    from strukt.data.check import Report


def _check(read: Callable[[Source, Tell], Iterable[Sentence]], source: Source, report: Report) -> None:
    """Takes down what is wrong with a corpus, and counts the sentences that can be learnt from."""
    for sentence in read(source, report.add):
        faults = list(entity_problems(sentence))
        for problem in faults:
            report.add(problem)
        if not faults:
            _count(sentence, report)


def _count(sentence: Sentence, report: Report) -> None:
    entities = sentence.entities
    nesting = depths(entities)
    report.count(sentence)
    report.count_labels("type", (entity.label for entity in entities))
    report.counts["entities"] += len(entities)
    report.counts["nested entities"] += sum(depth > 0 for depth in nesting)
    report.counts["deepest nesting"] = max([report.counts["deepest nesting"], *nesting])


ENTITY_CHECKS: Mapping[tuple[str, str], Callable[[Source, Report], None]] = MappingProxyType(
    {
        ("ner", "conllu"): partial(_check, conllu_entities.read),
        ("ner", "columns"): partial(_check, layers.read),
        ("ner", "jsonl"): partial(_check, json_lines.read),
    }
)
"""How to check each format of entities."""
