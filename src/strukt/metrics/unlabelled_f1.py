"""Unlabelled F1 (UF1) of constituency trees, for grammar induction, where labels have no meaning."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from random import Random

from strukt.data.constituents import TRACE, Tree
from strukt.metrics.counts import percent
from strukt.metrics.parseval import PUNCTUATION


class UnlabelledF1:
    """Unlabelled sentence-level F1: the mean over sentences of the F1 of spans, regardless of labels.

    Punctuation, by its tag in the gold tree, and traces are deleted first. Spans of one word and the span of the
    whole sentence are right in every tree and do not count; other spans count once. If the predicted tree has no
    other spans, precision is 1; if the gold tree has no other spans, recall is 1. Sentences with fewer than two
    words are skipped.

    Source: Kim, Dyer and Rush (2019), "Compound probabilistic context-free grammars for grammar induction",
    section 3.1 and the evaluation that they published.

    Examples:
        >>> from strukt.data.constituents import Tree
        >>> score = UnlabelledF1()
        >>> gold = Tree.parse("(S (NP (D the) (N cat)) (VP (V sees) (NP (D a) (N dog))))")
        >>> score.update(gold, Tree.parse("(X (X (X (X (A the) (A cat)) (A sees)) (A a)) (A dog))"))
        >>> score.result()  # one of three predicted spans is one of the three gold spans
        {'f1': 33.33333333333333}
    """

    def __init__(self) -> None:
        self.sentences = 0
        self.total = 0.0

    def update(self, gold: Tree, predicted: Tree) -> None:
        """Add the trees of one sentence.

        Args:
            gold: The right tree; its tags tell which words are punctuation.
            predicted: The predicted tree, over the same words.

        Raises:
            ValueError: If the trees have different words, or all leaves of a tree are traces.
        """
        gold, predicted = gold.without_traces(), predicted.without_traces()
        if gold.words != predicted.words:
            raise ValueError(f"the trees have different words: {gold.words} and {predicted.words}")
        kept = [tag not in PUNCTUATION for tag in gold.tags]
        if sum(kept) < 2:
            return
        gold_spans, predicted_spans = _spans(gold, kept), _spans(predicted, kept)
        both = len(gold_spans & predicted_spans)
        precision = both / len(predicted_spans) if predicted_spans else 1.0
        recall = both / len(gold_spans) if gold_spans else 1.0
        self.sentences += 1
        self.total += 2 * precision * recall / ((precision + recall) or 1.0)

    def result(self) -> dict[str, float]:
        """Return `f1` in per cent; 0 without sentences."""
        return {"f1": percent(self.total, self.sentences)}


def uninformed(trees: Iterable[Tree]) -> dict[str, dict[str, float]]:
    """Return the unlabelled F1 of uninformed baselines, by name: left-branching, right-branching, random trees.

    Random trees split each span at a uniformly drawn position, with a fixed seed.

    Args:
        trees: The gold trees; punctuation and traces are deleted first.

    Examples:
        >>> uninformed([Tree.parse("(S (D the) (X (N cat) (V sees)))")])["right-branching"]
        {'f1': 100.0}
    """
    chance = Random(1)
    cuts: dict[str, Callable[[int], int]] = {
        "left-branching": lambda n: n - 1,
        "right-branching": lambda n: 1,  # noqa: ARG005
        "random": lambda n: chance.randrange(1, n),
    }
    left_out = PUNCTUATION | {TRACE}
    known = [tree.without(left_out) for tree in trees if not left_out.issuperset(tree.tags)]
    return {name: _f1_of(known, cut) for name, cut in cuts.items()}


def _f1_of(known: Sequence[Tree], cut: Callable[[int], int]) -> dict[str, float]:
    """Return the unlabelled F1 of the binary trees that `cut` determines; see `binary`."""
    metric = UnlabelledF1()
    for tree in known:
        metric.update(tree, binary(tree.words, cut))
    return metric.result()


def binary(words: Sequence[str], cut: Callable[[int], int]) -> Tree:
    """Return the binary tree that results from splitting spans in two recursively; all labels are X.

    Args:
        words: The words of the sentence.
        cut: Maps the number n of words of a span to the number of words in its left part, 1 to n - 1.

    Examples:
        >>> print(binary(["a", "b", "c"], lambda n: 1))
        (X (X a) (X (X b) (X c)))
    """
    spans: list[tuple[int, int, str]] = []
    stack = [(0, len(words))]
    while stack:
        start, end = stack.pop()
        if end - start > 1:
            spans.append((start, end, "X"))
            middle = start + cut(end - start)
            stack += [(middle, end), (start, middle)]
    return Tree.build(words, ["X"] * len(words), spans)


def _spans(tree: Tree, kept: list[bool]) -> set[tuple[int, int]]:
    """Return the spans over the kept words, except single words and the whole sentence."""
    places = [0]
    for keep in kept:
        places.append(places[-1] + keep)
    spans = {(places[start], places[end]) for start, end, _ in tree.constituents}
    return {(start, end) for start, end in spans if 1 < end - start < places[-1]}
