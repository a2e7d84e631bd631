"""The predicted entities of a sentence."""

from __future__ import annotations

from strukt.data.conllu import entity_notes
from strukt.data.entities import Entity, layers
from strukt.data.sentence import Sentence
from strukt.tasks.common.prediction import DIGITS
from strukt.tasks.common.spans.prediction import SpanPrediction
from strukt.viz import BracketDiagram


class EntityPrediction(SpanPrediction):
    """The predicted entities of a sentence, which may be nested.

    Its attributes are those of `SpanPrediction`.
    """

    def annotate(self, sentence: Sentence) -> Sentence:
        """Return the sentence with the predicted entities, and their probabilities if known.

        The result is not marked as partially annotated, and forbids no spans. CoNLL-U and columns have no place
        for the probabilities of entities; they are left out there.
        """
        entities = [Entity(bracket.start, bracket.end, bracket.label) for bracket in self.brackets]
        known = [
            round(bracket.probability, DIGITS) for bracket in self.brackets if bracket.probability is not None
        ]
        written = known and not isinstance(sentence, (entity_notes.Sentence, layers.Sentence))
        complete = sentence.completed("span")
        return complete.annotated(entities=entities, **({"probabilities": known} if written else {}))

    def diagram(self, sentence: Sentence) -> BracketDiagram:
        """Draw the entities as brackets over the words."""
        return BracketDiagram(sentence.forms, self.brackets, (), self.bits, self.codes)
