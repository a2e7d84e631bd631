"""Labelled bracketing (PARSEVAL) of constituency trees, by the rules of EVALB with Collins's parameters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate

from strukt.data.constituents import Constituent, Tree
from strukt.metrics.counts import LabelCounts, percent, precision_recall_f1

PUNCTUATION = frozenset((",", ":", "``", "''", "."))
"""Words with these tags are deleted before brackets are compared."""

UNCOUNTED = PUNCTUATION | {"TOP", "ROOT", "S1", ""}
"""Labels of constituents that do not count, anywhere in a tree; COLLINS.prm lacks ROOT, S1 and the empty label."""

EQUAL = {"PRT": "ADVP"}
"""Labels that count as another label: each key counts as its value."""


class Parseval(LabelCounts):
    """PARSEVAL: counts constituents with the right label and the right span.

    The rules follow EVALB with `COLLINS.prm`. Traces, punctuation (by its tag in the gold tree) and constituents
    that are left without words are deleted; function tags are removed from labels; PRT equals ADVP. Constituents
    labelled TOP, ROOT, S1 or with an empty label do not count, anywhere in a tree; `COLLINS.prm` itself has only
    TOP. If m predicted and n gold constituents have the same span and label, min(m, n) of them are right.
    Sentences without remaining words are skipped.

    Source: Black et al. (1991), A Procedure for Quantitatively Comparing the Syntactic Coverage of English
    Grammars; README of EVALB (Sekine and Collins, 1997).

    Examples:
        >>> from strukt.data.constituents import Tree
        >>> score = Parseval()
        >>> gold = Tree.parse("(ROOT (S (NP (PRP I)) (VP (VBP see) (NP (PRP you))) (. .)))")
        >>> score.update(gold, Tree.parse("(ROOT (S (NP (PRP I)) (VP (VBP see)) (NP (PRP you)) (. .)))"))
        >>> score.result()
        {'precision': 75.0, 'recall': 75.0, 'f1': 75.0, 'exact': 0.0, 'tagging': 100.0}
    """

    def __init__(self) -> None:
        super().__init__()
        self.sentences = 0
        self.exact = 0
        self.words = 0
        self.right_tags = 0

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
            raise ValueError(f"the trees have different words: {_difference(gold.words, predicted.words)}")
        kept = [tag not in PUNCTUATION for tag in gold.tags]
        if not any(kept):
            return
        gold_constituents, predicted_constituents = _counted(gold, kept), _counted(predicted, kept)
        _add(self.gold, gold_constituents)
        _add(self.predicted, predicted_constituents)
        _add(self.right, gold_constituents & predicted_constituents)
        self.sentences += 1
        self.exact += gold_constituents == predicted_constituents
        self.words += sum(kept)
        tags = zip(gold.tags, predicted.tags, kept, strict=True)
        self.right_tags += sum(is_kept and tag == other for tag, other, is_kept in tags)

    def result(self) -> dict[str, float]:
        """Return precision, recall and F1 of brackets, exact match, and tagging accuracy, in per cent.

        The last two are the share of sentences whose brackets are all right, and the share of words with the right
        tag; punctuation does not count. A score with a denominator of 0 is 0.
        """
        return precision_recall_f1(*self.of_all()) | {
            "exact": percent(self.exact, self.sentences),
            "tagging": percent(self.right_tags, self.words),
        }

    def details(self) -> dict[str, dict[str, dict[str, float]]]:
        """Return, under "label", precision, recall, F1 and the number of gold brackets by label, from A to Z."""
        return {"label": self.scores_by_label()}


def _counted(tree: Tree, kept: Sequence[bool]) -> Counter[Constituent]:
    """Return the constituents that count, with spans over the kept words only."""
    before = [0, *accumulate(kept)]
    constituents: Counter[Constituent] = Counter()
    for start, end, label in tree.without_functions().constituents:
        if before[start] < before[end] and label not in UNCOUNTED:
            constituents[Constituent(before[start], before[end], EQUAL.get(label, label))] += 1
    return constituents


def _add(total: Counter[str], constituents: Counter[Constituent]) -> None:
    """Add the numbers of constituents with each label to a total."""
    for constituent, count in constituents.items():
        total[constituent.label] += count


def _difference(gold: Sequence[str], predicted: Sequence[str]) -> str:
    """Describe the first difference between two sequences of words, which are not equal."""
    for position, (word, other) in enumerate(zip(gold, predicted, strict=False), 1):
        if word != other:
            return f"word {position} is {word!r} in gold and {other!r} in predicted"
    return f"gold has {len(gold)} words, predicted {len(predicted)}"
