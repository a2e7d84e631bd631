"""The predicted arities, or the predicted value, of an expression."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from torch import Tensor

from strukt.data import listops
from strukt.data.sentence import Sentence
from strukt.tasks.common.prediction import probability_notes
from strukt.tasks.common.sentences import require_format
from strukt.viz import Diagram


@dataclass(frozen=True)
class ListPrediction:
    """The predicted arities of the operators of an expression, or its predicted value.

    Attributes:
        target: Kind of the labels: ``arity`` or ``value``.
        labels: The arity of each operator, or the value alone.
        certain: ``(labels,)``, the probability of each label.
        heads: The head of each symbol in the tree to draw, counted from 1; 0 for the root. Empty without a tree.
        arcs: The probability of the arc from each head, a number for each entry of `heads`.
        with_notes: Whether to write the probabilities of labels, and to draw those of arcs.
        shares: See `Prediction`.
    """

    target: str
    labels: Sequence[str]
    certain: Tensor
    heads: Sequence[int]
    arcs: Sequence[float]
    with_notes: bool
    shares: Mapping[str, tuple[float, float]]

    def annotate(self, sentence: Sentence) -> Sentence:
        """Return the expression, a sentence, with the predicted arities, or with the predicted value."""
        notes = {"p": " ".join(probability_notes(self.certain))} if self.with_notes else {}
        if self.target == "value":
            return sentence.annotated(label=self.labels[0], **notes)
        return sentence.annotated(arities=[int(label) for label in self.labels], **notes)

    def diagram(self, sentence: Sentence) -> Diagram:
        """Draw the symbols of a sentence with arcs, and the arities below the operators or the value as title."""
        arcs = self.arcs if self.with_notes else ()
        drawn = Diagram(sentence.forms, heads=self.heads, head_probabilities=arcs)
        if self.target == "value":
            return replace(drawn, title=f"value {self.labels[0]}, p = {self.certain[0]:.2f}")
        of_operators = dict(zip(expression_of(sentence).operators, self.labels, strict=True))
        return replace(drawn, tags=[of_operators.get(place, "") for place in range(len(sentence))])


def expression_of(sentence: Sentence) -> listops.Sentence:
    """Return the sentence as an expression.

    Raises:
        DataError: If it is not an expression.
    """
    return require_format(sentence, listops.Sentence, "ListOps needs a file of expressions")
