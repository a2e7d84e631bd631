"""Checking trees: dependency trees of CoNLL-U, constituency trees in bracket files and in CoNLL-U.

Each check reads a source, adds its problems to a report, and counts the sentences without problems there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from strukt.data import brackets
from strukt.data.check.report import Report, read_conllu
from strukt.data.conllu import constituency, entity_notes
from strukt.data.conllu.dependency_trees import is_projective, partial_tree_problems, tree_problems
from strukt.data.constituents import Tree
from strukt.data.entities import entity_problems, partial_entity_problems
from strukt.data.files import Source
from strukt.data.files.problems import Problem
from strukt.data.sentence import UNANNOTATED, Sentence


def check_dependency(source: Source, report: Report, partial: bool = False) -> None:
    """Check dependency trees; with ``partial``, heads and relations may be missing."""
    problems = partial_tree_problems if partial else tree_problems
    for sentence in read_conllu(source, report):
        if report.accepts(sentence, problems(sentence)):
            report.count_labels("deprel", _annotated(sentence.deprels))
            heads = [word.head for word in sentence.words if word.head is not None]
            if partial:
                report.counts["annotated words"] += len(heads)
            if len(heads) == len(sentence):
                report.counts["non-projective sentences"] += not is_projective(heads)


def check_layers(source: Source, report: Report, partial: bool = False) -> None:
    """Check the layers from which a pipeline learns: tags, dependency trees and entities of CoNLL-U.

    With ``partial``, they may be missing or incomplete.
    """
    trees, entities = (
        (partial_tree_problems, partial_entity_problems) if partial else (tree_problems, entity_problems)
    )
    for sentence in entity_notes.read(source, report.add):
        faults = [*trees(sentence.plain), *(entities(sentence) if sentence.is_annotated else ())]
        if report.accepts(sentence, dict.fromkeys(faults)):  # both layers report a malformed `# forbidden`
            for column in ("upos", "xpos", "deprel"):
                report.count_labels(column, _annotated(sentence.column(column)))
            report.count_labels("type", (entity.label for entity in sentence.entities))


def check_brackets(source: Source, report: Report, partial: bool = False) -> None:
    """Check a file of bracketed trees; with ``partial``, those whose outermost label is `_` may be incomplete."""
    for block in brackets.blocks(source, report.add):
        if tree := brackets.parse(block, report.add):
            _count(brackets.Sentence(block, tree), tree, report, partial)


def check_constituency(source: Source, report: Report, partial: bool = False) -> None:
    """Check the trees in the comments of a CoNLL-U file, as `check_brackets` does."""
    for sentence in read_conllu(source, report):
        if tree := constituency.parse(sentence.block, sentence.words, report.add):
            _count(sentence, tree, report, partial)


def _annotated(labels: Iterable[str]) -> Iterator[str]:
    """Return the labels without `UNANNOTATED`."""
    return (label for label in labels if label != UNANNOTATED)


def _count(sentence: Sentence, tree: Tree, report: Report, partial: bool) -> None:
    """Count the constituents and tags that a parser learns (without function tags or traces), and the traces."""
    is_partial = tree.nodes[0].label == UNANNOTATED
    if is_partial and not partial:
        message, remedy = "the tree is partly annotated, as its outermost label _ says", "train with --partial"
        report.add(Problem("partial", message, remedy, sentence.path, sentence.line))
        return
    if not report.accepts(sentence, sentence.forbidden_problems() if partial else ()):
        return
    learnt = tree.without_traces().without_functions()
    constituents = learnt.constituents[is_partial:]
    report.counts["trees"] += 1
    report.counts["constituents"] += len(constituents)
    report.counts["traces"] += len(tree.tags) - len(learnt.tags)
    report.count_labels("constituent", (constituent.label or "(none)" for constituent in constituents))
    report.count_labels("tag", _annotated(learnt.tags) if is_partial else learnt.tags)
