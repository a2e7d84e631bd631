"""What the models that end in a structure have in common: a distribution for each sentence."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from strukt.data.sentence import Sentence
from strukt.distributions.distribution import StructuredDistribution
from strukt.tasks.batch import Batch
from strukt.tasks.sentence_model import SentenceModel


class StructuredModel(SentenceModel):
    """A model that predicts a structure for each sentence."""

    @abstractmethod
    def distribution_of(self, batch: Batch) -> StructuredDistribution:
        """The distribution over the structures of each sentence."""

    def distribution(self, sentences: Sequence[Sentence]) -> StructuredDistribution:
        """The distribution over the structures of each sentence, for probabilities and pictures.

        Args:
            sentences: A batch; what they are annotated with is not read.
        """
        with self.predicting():
            return self.distribution_of(self.collate(list(sentences), with_targets=False).to(self.device))
