"""Scores of the trees that a grammar finds, beside those of uninformed trees."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from strukt.data import brackets
from strukt.data.sentence import Sentence
from strukt.metrics.unlabelled_f1 import UnlabelledF1, uninformed
from strukt.tasks.common.measurement import Measurement


def measured(gold: Sequence[brackets.Sentence], predicted: Iterable[Sentence]) -> Measurement:
    """Return the unlabelled F1 of predicted trees, and a table that compares it with that of uninformed trees.

    Args:
        gold: Sentences with their trees.
        predicted: The same sentences, with the trees of the grammar.
    """
    metric = UnlabelledF1()
    for annotated, parsed in zip(gold, predicted, strict=True):
        assert isinstance(parsed, brackets.Sentence)
        metric.update(annotated.tree, parsed.tree)
    scores = metric.result()
    others = uninformed(annotated.tree for annotated in gold)
    return Measurement(scores, {"trees": {"grammar": scores} | others})
