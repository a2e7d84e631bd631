"""The constituency tree of a CoNLL-U sentence, in the comment `# constituency = (ROOT ...)`."""

from __future__ import annotations

from collections.abc import Sequence

from strukt.data.conllu.rules import Word, comment
from strukt.data.constituents import TRACE, BracketError, Tree, escape
from strukt.data.files.blocks import Block
from strukt.data.files.problems import Problem, Report

KEY = "constituency"
"""The key of the comment."""


def parse(block: Block, words: Sequence[Word], report: Report) -> Tree | None:
    """Parse the tree in the comments of a sentence; if there is a problem, report it and return None.

    The words of the tree, except traces, must be those of the sentence, escaped by `constituents.escape`.
    """
    numbered, pattern = enumerate(block.lines, block.line), comment(KEY)
    comments = [(line, match[1]) for line, text in numbered if (match := pattern.fullmatch(text))]
    if not comments:
        message = "the sentence has no constituency tree"
        report(
            Problem("no-tree", message, "add the comment # constituency = (ROOT ...)", block.path, block.line)
        )
        return None
    (line, text), *others = comments
    for other, _ in others:
        report(Problem("second-tree", "the sentence has a second tree", "keep one", block.path, other))
    if others:
        return None
    try:
        tree = Tree.parse(text)
    except BracketError as error:
        report(Problem(error.rule, error.message, error.remedy, block.path, line))
        return None
    if message := difference(tree, words):
        report(Problem("tree-words", message, "correct the tree, or delete its comment", block.path, line))
        return None
    return tree


def difference(tree: Tree, words: Sequence[Word]) -> str:
    """Describe how the words of a tree differ from those of a sentence; empty if they do not."""
    leaves = [node.word for node in tree.nodes if node.word is not None and node.label != TRACE]
    for word, leaf in zip(words, leaves, strict=False):
        if escape(word.form) != leaf:
            return f"word {word.id} is {escape(word.form)!r}, but {leaf!r} in the tree"
    if len(words) != len(leaves):
        return f"the sentence has {len(words)} words, but its tree {len(leaves)}"
    return ""
