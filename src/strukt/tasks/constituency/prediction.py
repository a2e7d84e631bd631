"""The predicted tree of a sentence."""

from __future__ import annotations

from dataclasses import dataclass

from strukt.data.constituents import Tree
from strukt.data.sentence import Sentence
from strukt.tasks.common.spans.prediction import SpanPrediction
from strukt.viz import BracketDiagram


@dataclass(frozen=True)
class TreePrediction(SpanPrediction):
    """The predicted constituency tree of a sentence.

    Attributes:
        tree: The tree, with tags; other attributes are those of `SpanPrediction`.
    """

    tree: Tree

    def annotate(self, sentence: Sentence) -> Sentence:
        """Return the sentence with the predicted tree; the result forbids no spans."""
        return sentence.completed("span").annotated(tree=self.tree)

    def diagram(self, sentence: Sentence) -> BracketDiagram:
        """Draw the tree over words and tags."""
        return BracketDiagram(sentence.forms, self.brackets, self.tree.tags, self.bits, self.codes)
