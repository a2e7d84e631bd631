"""Models with a distribution over the structures of each sentence."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from heapq import nsmallest
from typing import ClassVar

import torch
from torch import Tensor

from strukt.data.batching import batches
from strukt.data.sentence import Sentence
from strukt.errors import SettingError
from strukt.nn import Mixture
from strukt.nn.estimators import Argmax, Estimator, Marginals, SparseMAP, SparseMarginals, TopK
from strukt.structures.distribution import StructuredDistribution
from strukt.tasks.common.batch import Batch
from strukt.tasks.common.sentence_model import SentenceModel, windows
from strukt.viz import Diagram, WeightedStructures
from strukt.viz.structures import LEAST


class StructuredModel(SentenceModel):
    """A model that predicts a structure for each sentence, or reads some.

    Attributes:
        few_are_had_by: Which trainings give models that have `few` structures, for messages.
    """

    few_are_had_by: ClassVar[str] = "models of the tasks dependency, classify, dictionary and listops may have one"

    @abstractmethod
    def distribution_of(self, batch: Batch) -> StructuredDistribution:
        """The distribution over the structures of each sentence."""

    @property
    def few(self) -> Estimator | None:
        """The estimator of the few structures that prediction reads, with their weights; or None."""
        return None

    def drawn(self, batch: Batch, events: Tensor) -> Sequence[Diagram]:
        """Draw structures.

        Args:
            batch: The sentences.
            events: A structure of each.
        """
        raise NotImplementedError(f"a {type(self).__name__} does not draw the few structures that it reads")

    def distribution(self, sentences: Sequence[Sentence]) -> StructuredDistribution:
        """The distribution over the structures of each sentence, for probabilities and pictures.

        Args:
            sentences: A batch; what they are annotated with is not read.
        """
        with self.predicting():
            return self.distribution_of(self.collate(list(sentences), with_targets=False).to(self.device))

    def structures(self, sentence: Sentence) -> list[WeightedStructures]:
        """Draw the few structures that prediction reads of a sentence, with their weights.

        Args:
            sentence: What it is annotated with is not read.

        Returns:
            Of each of its `parts` the heaviest, and all of a weight of at least `viz.structures.LEAST`.

        Raises:
            SettingError: Prediction does not read a few of them.
        """
        few = self._require_few()
        return [self._structures(few, part) for part in self.parts(sentence)]

    def given(self, sentence: Sentence) -> list[Tensor]:  # noqa: ARG002
        """The structures that a corpus gives the `parts` of a sentence, as events.

        Raises:
            DataError: It gives none.
            SettingError: Corpora give no structures of the kind that the model reads.
        """
        raise SettingError("corpora give no structures of the kind that the model reads")

    def given_weights(self, sentence: Sentence) -> list[float]:
        """The weight of the given structure of each of a sentence's `parts`, among those that prediction reads.

        It is 0 where prediction does not read it.

        Raises:
            DataError: The sentence has no given structure.
            SettingError: Prediction does not read a few of them, or corpora give none.
        """
        few, weights = self._require_few(), []
        with self.predicting():
            for part, event in zip(self.parts(sentence), self.given(sentence), strict=True):
                distribution = self.distribution([part])
                found = few(distribution)
                given = distribution.to_parts(event.to(self.device).unsqueeze(0))
                weights.append(found.weights[(found.parts == given).flatten(1).all(1)].sum().item())
        return weights

    def parts(self, sentence: Sentence) -> list[Sentence]:
        """Return the parts that have a structure each: as a rule the whole sentence."""
        return [sentence]

    def ambiguous(self, sentences: Iterable[Sentence], count: int) -> list[Sentence]:
        """The sentences between whose structures the model decides least.

        Args:
            sentences: Any number; what they are annotated with is not read.
            count: How many are wanted.

        Returns:
            Those whose heaviest structure has the least weight, that with the least first.

        Raises:
            DataError: A sentence of this format has no place for the structures.
            SettingError: Prediction does not read a few of them, or only one.
        """
        few = self._require_few()
        if isinstance(few, Argmax) or few == TopK(1):
            raise SettingError(
                "the model reads one structure of each sentence alone, so that none is ambiguous"
            )
        least = nsmallest(count, self._heaviest(few, sentences), key=lambda found: found[0])
        return [sentence for _, sentence in least]

    def _structures(self, few: Estimator, sentence: Sentence) -> WeightedStructures:
        with self.predicting():
            distribution = self.distribution([sentence])
            found = few(distribution)
            weights, order = found.weights.sort(descending=True, stable=True)
            count = max(1, int((weights >= LEAST).sum()))
            events = distribution.from_parts(found.parts[order[:count]].unsqueeze(1)).squeeze(1)
            pictures = self._pictures(sentence, events)
        rest = weights[count:]
        return WeightedStructures(
            pictures, weights[:count].tolist(), others=len(rest), rest=rest.sum().item()
        )

    def _pictures(self, sentence: Sentence, events: Tensor) -> list[Diagram]:
        """Draw each structure of a sentence, in batches as bounded as any."""
        pictures: list[Diagram] = []
        for indices in batches(self.sizes([sentence]) * len(events), self.config.trainer.tokens):
            copies = self.collate([sentence] * len(indices), with_targets=False).to(self.device)
            pictures += self.drawn(copies, events[indices])
        return pictures

    def _heaviest(self, few: Estimator, sentences: Iterable[Sentence]) -> Iterator[tuple[float, Sentence]]:
        """The weight of the heaviest structure of each sentence."""
        for window in windows(sentences):
            for indices in batches(self.sizes(window), self.config.trainer.tokens):
                chosen = [window[index] for index in indices]
                for sentence in chosen:
                    self.require_usable(sentence)
                parts = [part for sentence in chosen for part in self.parts(sentence)]
                with self.predicting():
                    found = few(self.distribution(parts))
                    weights = found.weights.new_zeros(len(parts))
                    weights = weights.scatter_reduce(0, found.items, found.weights, "amax")
                yield from zip(weights.reshape(len(chosen), -1).amin(1).tolist(), chosen, strict=True)

    def _require_few(self) -> Estimator:
        if self.few is None:
            raise SettingError(f"the model has no sparse distribution over structures; {self.few_are_had_by}")
        return self.few


def few_of(estimator: Estimator) -> Estimator | None:
    """Return what selects the few structures that an estimator reads in prediction; None where it reads all.

    Examples:
        >>> from strukt.nn.estimators import Relaxed, Sample
        >>> few_of(SparseMarginals(10)), few_of(Sample()), few_of(Relaxed())
        (SparseMAP(max_iterations=10, tol=1e-06), Argmax(gradient='straight-through', step=1.0), None)
    """
    found = estimator.in_prediction
    if isinstance(found, SparseMarginals):
        return SparseMAP(found.max_iterations, found.tol)
    return None if isinstance(found, Marginals) else found


def counts_of(mixture: Mixture, estimator: Estimator) -> list[int]:
    """Count the structures that prediction has read of each item; no counts where it reads all.

    Args:
        mixture: What was made of them.
        estimator: What has selected them.
    """
    few = few_of(estimator)
    if few is None:
        return []
    if few is estimator.in_prediction:
        return list(mixture.counts.tolist())
    return torch.bincount(few(mixture.structures).items, minlength=mixture.batch).tolist()
