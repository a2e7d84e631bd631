"""What the models that end in a structure have in common: a distribution for each sentence."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from heapq import nsmallest

from torch import Tensor

from strukt.data.batching import batches
from strukt.data.sentence import Sentence
from strukt.distributions.distribution import StructuredDistribution
from strukt.tasks.batch import Batch
from strukt.tasks.sentence_model import SentenceModel, windows
from strukt.viz.diagram import Diagram
from strukt.viz.listing import shorten

LEAST = 0.01
"""Structures of less weight are not drawn."""


class StructuredModel(SentenceModel):
    """A model that predicts a structure for each sentence."""

    @abstractmethod
    def distribution_of(self, batch: Batch) -> StructuredDistribution:
        """The distribution over the structures of each sentence."""

    @property
    def is_sparse(self) -> bool:
        """Whether it learns by SparseMAP, which gives weight to few structures; then it can draw them, too."""
        return False

    def drawn(self, batch: Batch, events: Tensor) -> Sequence[Diagram]:
        """What pictures of structures show.

        Args:
            batch: The sentences.
            events: A structure of each.
        """
        raise NotImplementedError(f"a {type(self).__name__} does not draw the structures of its SparseMAP")

    def distribution(self, sentences: Sequence[Sentence]) -> StructuredDistribution:
        """The distribution over the structures of each sentence, for probabilities and pictures.

        Args:
            sentences: A batch; what they are annotated with is not read.
        """
        with self.predicting():
            return self.distribution_of(self.collate(list(sentences), with_targets=False).to(self.device))

    def structures(self, sentence: Sentence) -> list[Diagram]:
        """What pictures of the few structures in the SparseMAP of a sentence show, the heaviest first.

        Args:
            sentence: What it is annotated with is not read.

        Returns:
            The heaviest, and all of a weight of at least `LEAST`; the title of each tells it.
        """
        with self.predicting():
            found = self.distribution([sentence]).sparsemap()
            weights, order = found.weights[0].sort(descending=True)
            order = order[weights >= weights[:1].clamp(max=LEAST)]
            copies = self.collate([sentence] * len(order), with_targets=False).to(self.device)
            pictures = self.drawn(copies, found.events[0, order])
        return [
            replace(picture, title=f"weight {shorten(weight)}")
            for picture, weight in zip(pictures, weights.tolist(), strict=False)
        ]

    def ambiguous(self, sentences: Iterable[Sentence], count: int) -> list[Sentence]:
        """The sentences between whose structures SparseMAP decides least.

        Args:
            sentences: Any number; what they are annotated with is not read.
            count: How many are wanted.

        Returns:
            Those whose heaviest structure has the least weight, that with the least first.

        Raises:
            DataError: A sentence of this format has no place for the structures.
        """
        least = nsmallest(count, self._heaviest(sentences), key=lambda found: found[0])
        return [sentence for _, sentence in least]

    def _heaviest(self, sentences: Iterable[Sentence]) -> Iterator[tuple[float, Sentence]]:
        """The weight of the heaviest structure of each sentence."""
        for window in windows(sentences):
            for indices in batches([len(sentence) for sentence in window], self.config.trainer.tokens):
                chosen = [window[index] for index in indices]
                for sentence in chosen:
                    self.require_usable(sentence)
                with self.predicting():
                    weights = self.distribution(chosen).sparsemap().weights.amax(-1)
                yield from zip(weights.tolist(), chosen, strict=True)
