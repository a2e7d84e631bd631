"""What is asked of a model, and its answers as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from strukt.data.sentence import Sentence

if TYPE_CHECKING:
    from strukt.tasks.common.model import Model


@dataclass(frozen=True)
class Annotation:
    """What is asked of a model.

    Attributes:
        probabilities: Also how probable each prediction is.
        infill: What stands for a missing word, if these are to be filled in; None for predictions.
    """

    probabilities: bool = False
    infill: str | None = None

    def texts(self, model: Model, sentences: Iterable[Sentence]) -> Iterator[str]:
        """What is written for each sentence, in order, as they come.

        Args:
            model: The model.
            sentences: Any number of sentences.

        Raises:
            SettingError: The model fills in no words.
            DataError: The format of a sentence has no place for the predictions.
        """
        if self.infill is None:
            return map(str, model.predict(sentences, probabilities=self.probabilities))
        return (" ".join(words) + "\n" for words in model.infill(sentences, self.infill))
