"""The predicted class of a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from strukt.data.sentence import Sentence
from strukt.tasks.common.prediction import DIGITS
from strukt.viz import HeatMap

DRAWN = 12
"""Maximum number of classes in a picture."""


@dataclass(frozen=True)
class ClassPrediction:
    """The predicted class of a sentence.

    Attributes:
        probabilities: The probability of each class.
        with_note: Whether to write the probability of the class as a note.
        shares: See `Prediction`.

    Examples:
        >>> import io
        >>> from strukt.data.classes import labelled
        >>> [sentence] = labelled.read_text(io.BytesIO(b"a joy"))
        >>> prediction = ClassPrediction({"negative": 0.25, "positive": 0.75}, with_note=True, shares={})
        >>> prediction.annotate(sentence).fields
        ['positive', 'a joy', 'p=0.7500']
    """

    probabilities: Mapping[str, float]
    with_note: bool
    shares: Mapping[str, tuple[float, float]]

    @cached_property
    def ranking(self) -> list[str]:
        """The classes, the most probable first; ties are in the order of `probabilities`."""
        return sorted(self.probabilities, key=self.probabilities.__getitem__, reverse=True)

    def annotate(self, sentence: Sentence) -> Sentence:
        """Return the sentence with the most probable class."""
        notes = self.notes if self.with_note else {}
        return sentence.annotated(label=self.ranking[0], **notes)

    @property
    def notes(self) -> dict[str, str]:
        """The notes to write: the probability of the class, as `p`."""
        return {"p": self._written(self.ranking[0])}

    def diagram(self, sentence: Sentence) -> HeatMap:  # noqa: ARG002
        """Draw the probability of each class, or of the most probable ones if there are many."""
        names = list(self.probabilities) if len(self.probabilities) <= DRAWN else self.ranking[:DRAWN]
        return self._drawn("probability of each class", "p", names)

    def _written(self, label: str) -> str:
        return f"{self.probabilities[label]:.{DIGITS}f}"

    def _drawn(self, title: str, measure: str, names: Sequence[str]) -> HeatMap:
        return HeatMap(title, [measure], names, [[self.probabilities[name] for name in names]])
