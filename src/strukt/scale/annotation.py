"""Options of an annotation, and the annotated sentences as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from strukt.data.sentence import Sentence

if TYPE_CHECKING:
    from strukt.tasks.common.model import Model


@dataclass(frozen=True)
class Annotation:
    """Options of an annotation.

    Attributes:
        probabilities: Write the probability of each prediction, too.
        infill: The mark of a missing word, if missing words are to be filled in; None for predictions.
    """

    probabilities: bool = False
    infill: str | None = None

    def texts(self, model: Model, sentences: Iterable[Sentence]) -> Iterator[str]:
        """Yield the text of each annotated sentence, in order.

        Args:
            model: The model.
            sentences: The sentences, read lazily.

        Raises:
            SettingError: If the model cannot fill in words.
            DataError: If the format of a sentence cannot hold the predictions.
        """
        if self.infill is None:
            return map(str, model.predict(sentences, probabilities=self.probabilities))
        return (" ".join(words) + "\n" for words in model.infill(sentences, self.infill))
