"""Models that predict a structure for each sentence, and measure their uncertainty by its entropy."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from heapq import nlargest
from typing import Any

from torch import Tensor
from typing_extensions import override

from strukt.data.sentence import Sentence
from strukt.tasks.common.batch import Batch
from strukt.tasks.common.measurement import Undecided
from strukt.tasks.common.prediction import DIGITS
from strukt.tasks.common.scores import not_nan
from strukt.tasks.common.sentence_model import SentenceModel
from strukt.tasks.common.structured_model import StructuredModel


class UncertainModel(SentenceModel):
    """A model whose uncertainty about a sentence is an entropy.

    In addition to the methods of `SentenceModel`, a subclass implements `entropies`.
    """

    @abstractmethod
    def entropies(self, batch: Batch) -> Tensor:
        """Compute the entropy of the distribution over structures of each sentence.

        Args:
            batch: Sentences from `collate`, on the device of the model.

        Returns:
            ``(batch,)``, in nats.

        Raises:
            SettingError: If the model scores binary codes in place of labels.
        """

    @override
    def most_undecided(self, sentences: Iterable[Sentence], count: int) -> list[Undecided]:
        return nlargest(count, self._undecided(sentences), key=lambda each: each.entropy)

    def _undecided(self, sentences: Iterable[Sentence]) -> Iterator[Undecided]:
        pairs = self.computed(sentences, lambda batch: not_nan(self.entropies(batch)).tolist())
        for sentence, entropy in pairs:
            # Floating-point errors depend on the batch. After rounding, equal entropies keep their order.
            yield Undecided(sentence, round(entropy / max(1, len(sentence)), DIGITS))


class StructurePredictor(UncertainModel, StructuredModel):
    """A model that predicts a structure for each sentence; the entropy of the structure is its uncertainty.

    In addition to the methods of `SentenceModel`, a subclass implements `distribution_of` and `has_annotation`.
    """

    @staticmethod
    @abstractmethod
    def has_annotation(config: Any, sentence: Sentence) -> bool:
        """Return whether partial training, with the option `partial`, can learn anything from a sentence.

        Args:
            config: The configuration of the task.
            sentence: The sentence, which may be annotated in part.

        Raises:
            DataError: If the format of the sentence cannot hold such annotation.
        """

    @override
    def entropies(self, batch: Batch) -> Tensor:
        return self.distribution_of(batch).entropy()
