"""Checking constituency trees, in bracket files and in CoNLL-U."""

from __future__ import annotations

from strukt.data import brackets
from strukt.data.check.report import Report, read_conllu
from strukt.data.conllu import constituency
from strukt.data.constituents import Tree
from strukt.data.files import Source


def check_brackets(source: Source, report: Report) -> None:
    """Check a file of bracketed trees."""
    for block in brackets.blocks(source, report.add):
        if tree := brackets.parse(block, report.add):
            report.count(brackets.Sentence(block, tree))
            _count(tree, report)


def check_conllu(source: Source, report: Report) -> None:
    """Check the trees in the comments of a CoNLL-U file."""
    for sentence in read_conllu(source, report):
        if tree := constituency.parse(sentence.block, sentence.words, report.add):
            report.count(sentence)
            _count(tree, report)


def _count(tree: Tree, report: Report) -> None:
    """Count what a parser learns (the tree without function tags and traces), and the traces."""
    learnt = tree.without_traces().without_functions()
    constituents = learnt.constituents
    report.counts["trees"] += 1
    report.counts["constituents"] += len(constituents)
    report.counts["traces"] += len(tree.tags) - len(learnt.tags)
    report.count_labels("constituent", (constituent.label or "(none)" for constituent in constituents))
    report.count_labels("tag", learnt.tags)
