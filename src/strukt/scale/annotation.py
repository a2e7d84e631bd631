"""Annotation of sentences, with its options; the result is text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING

from strukt.data.sentence import Sentence

if TYPE_CHECKING:
    from strukt.tasks.common.model import Model


@dataclass(frozen=True)
class Annotation:
    """Options of an annotation.

    Attributes:
        probabilities: Whether to write the probability of each prediction, too; ignored if words are filled in.
        infill: The word that marks missing words, which are filled in; None to predict structures instead.
    """

    probabilities: bool = False
    infill: str | None = None

    def texts(
        self, model: Model, sentences: Iterable[Sentence], begins: Iterable[bool] = repeat(False)
    ) -> Iterator[str]:
        """Yield the text of each annotated sentence, in order.

        Args:
            model: The model that annotates.
            sentences: The sentences, which are read lazily, so that errors in reading them are raised here.
            begins: For each sentence, True if a text begins with it that must be readable on its own; False for
                all by default. Ignored if words are filled in.

        Raises:
            SettingError: If words are to be filled in, and the model cannot do it.
            DataError: If a sentence cannot be read, or if its format cannot hold the predictions.
        """
        if self.infill is None:
            predicted = model.predict(sentences, probabilities=self.probabilities)
            pairs = zip(predicted, begins, strict=False)
            return (str(each.standing_alone() if first else each) for each, first in pairs)
        return (" ".join(words) + "\n" for words in model.infill(sentences, self.infill))
