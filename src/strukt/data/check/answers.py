"""Checking corpora of classes, numbers, logical forms and ListOps expressions.

Each check reads a source, adds its problems to a report, and counts the sentences without problems there.
"""

from __future__ import annotations

from collections.abc import Iterable

from strukt.data import classes, listops, text
from strukt.data.check.report import Report, read_conllu
from strukt.data.classes import labelled, pairs
from strukt.data.conllu import sentence_labels, tree_pairs
from strukt.data.corpora import synthetic
from strukt.data.files import Source
from strukt.data.logical_forms import NONE, cogs
from strukt.data.sentence import Sentence


def check_classes(source: Source, report: Report) -> None:
    """Check labelled sentences, one on each line."""
    _count_classes(labelled.read(source, report.add), report)


def check_conllu_classes(source: Source, report: Report) -> None:
    """Check the labels of sentences in CoNLL-U."""
    _count_classes(map(sentence_labels.Sentence, read_conllu(source, report)), report)


def check_pairs(source: Source, report: Report) -> None:
    """Check labelled pairs of sentences, one pair on each line."""
    _count_classes(pairs.read(source, report.add), report)


def check_conllu_pairs(source: Source, report: Report) -> None:
    """Check the labels of pairs of sentences in CoNLL-U."""
    sentences = list(map(sentence_labels.Sentence, read_conllu(source, report)))
    if not report.problem_count:  # if a sentence was left out, the pairs after it would be wrong
        _count_classes(tree_pairs.paired(iter(sentences), report.add), report)


def check_numbers(source: Source, report: Report, largest: int | None = None) -> None:
    """Check that the words of sentences are whole numbers, none above `largest` if it is given."""
    _count_numbers(text.read(source, report.add), report, largest)


def check_conllu_numbers(source: Source, report: Report, largest: int | None = None) -> None:
    """Check that the words of CoNLL-U sentences are whole numbers, none above `largest` if it is given."""
    _count_numbers(read_conllu(source, report), report, largest)


def check_cogs(source: Source, report: Report) -> None:
    """Check a file in the format of COGS; a logical form that tags cannot express is a problem, too."""
    for sentence in cogs.read(source, report.add):
        if sentence.tags is None:
            report.add(cogs.missing(sentence))
            continue
        report.count(sentence)
        report.counts["primitives"] += len(sentence) == 1
        for name, tags in sentence.tags._asdict().items():
            report.count_labels(name, (tag for tag in tags if tag != NONE))
        report.count_labels("case", [sentence.case] if sentence.case else [])


def check_listops(source: Source, report: Report) -> None:
    """Check a file in the format of ListOps; a missing or wrong value is a problem, too."""
    for sentence in listops.read(source, report.add):
        if sentence.label is None:
            report.add(listops.missing(sentence))
        elif sentence.label != str(sentence.expression.value):
            report.add(listops.wrong(sentence))
        else:
            report.count(sentence)
            report.counts["operators"] += len(sentence.arities)
            report.count_labels("value", [sentence.label])
            report.count_labels("arity", map(str, sentence.arities))


def _count_classes(sentences: Iterable[classes.Sentence], report: Report) -> None:
    """Collect the problems of labelled sentences; count the sentences without problems, and their classes."""
    for sentence in sentences:
        if report.accepts(sentence, sentence.problems()) and sentence.label is not None:
            report.count_labels("class", [sentence.label])


def _count_numbers(sentences: Iterable[Sentence], report: Report, largest: int | None) -> None:
    """Collect the problems of sentences of numbers; count the sentences without problems."""
    for sentence in sentences:
        if problem := synthetic.number_problem(sentence, largest):
            report.add(problem)
        else:
            report.count(sentence)
