"""Models with a distribution over the structures of each sentence, which are predicted or latent."""

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
from strukt.tasks.common.sentence_model import SentenceModel, checked, windows
from strukt.viz import Diagram, WeightedStructures
from strukt.viz.structures import LEAST


class StructuredModel(SentenceModel):
    """A model that predicts a structure for each sentence, or reads latent structures.

    In addition to the methods of `SentenceModel`, a subclass implements `distribution_of`. If its prediction reads
    only a few structures, it also overrides `few` and `drawn`, and `given` if corpora annotate such structures.

    Attributes:
        few_hint: End of an error message: it says which models read only a few structures of a sentence.
    """

    few_hint: ClassVar[str] = "models of the tasks dependency, classify, dictionary, nli and listops may have one"

    @abstractmethod
    def distribution_of(self, batch: Batch) -> StructuredDistribution:
        """Return the distribution over the structures of each sentence.

        Args:
            batch: Sentences from `collate`, on the device of the model.
        """

    @property
    def few(self) -> Estimator | None:
        """The estimator that selects and weights the few structures read in prediction; None if all are read."""
        return None

    def drawn(self, batch: Batch, events: Tensor) -> Sequence[Diagram]:
        """Draw a structure of each sentence.

        Args:
            batch: The sentences, as a batch.
            events: A structure of each sentence, in the shape of the ``mode`` of `distribution_of`.

        Raises:
            NotImplementedError: If models of the task never read only a few structures.
        """
        raise NotImplementedError(f"a {type(self).__name__} does not draw the few structures that it reads")

    def distribution(self, sentences: Sequence[Sentence]) -> StructuredDistribution:
        """Return the distribution over the structures of each sentence, without dropout or gradients.

        Args:
            sentences: The sentences of a batch; their annotation is ignored.

        Raises:
            SettingError: If the model neither predicts structures nor has latent ones.
            ScoresError: If the scores of the model cannot be used, for example because they are NaN.
        """
        with self.predicting():
            return self.distribution_of(self.collate(list(sentences), with_targets=False).to(self.device))

    def structures(self, sentence: Sentence) -> list[WeightedStructures]:
        """Draw pictures of the few structures that prediction reads of a sentence, with their weights.

        Args:
            sentence: The sentence; its annotation is ignored.

        Returns:
            For each of the `parts` of the sentence, the structures of weight `strukt.viz.structures.LEAST` (0.01)
            or more, but at least one, the heaviest first.

        Raises:
            SettingError: If prediction reads all structures.
        """
        few = self._require_few()
        return [self._structures(few, part) for part in self.parts(sentence)]

    def given(self, sentence: Sentence) -> list[Tensor]:  # noqa: ARG002
        """Return the annotated structure of each of the `parts` of a sentence, as an event.

        An event has the shape of the ``mode`` of `distribution`, without the batch axis.

        Raises:
            DataError: If the sentence has no such annotation.
            SettingError: If no corpus gives structures of the kind that the model reads.
        """
        raise SettingError("no corpus gives structures of the kind that the model reads")

    def given_weights(self, sentence: Sentence) -> list[float]:
        """Return the weight that prediction gives to the annotated structure of each of the `parts` of a sentence.

        The weight is 0 if prediction does not read the structure.

        Raises:
            DataError: If the sentence has no annotated structure.
            SettingError: If prediction reads all structures, or if no corpus annotates such structures.
        """
        few, weights = self._require_few(), []
        with self.predicting():
            for part, event in zip(self.parts(sentence), self.given(sentence), strict=True):
                distribution = self.distribution([part])
                selected = few(distribution)
                gold_parts = distribution.to_parts(event.to(self.device).unsqueeze(0))
                is_gold = (selected.parts == gold_parts).flatten(1).all(1)
                weights.append(selected.weights[is_gold].sum().item())
        return weights

    def parts(self, sentence: Sentence) -> list[Sentence]:
        """Return the parts of a sentence that have a structure each; by default, the sentence itself."""
        return [sentence]

    def ambiguous(self, sentences: Iterable[Sentence], count: int) -> list[Sentence]:
        """Return the most ambiguous sentences: those whose heaviest structure has the least weight.

        Args:
            sentences: Any number of sentences; their annotation is ignored.
            count: Maximum number of sentences to return.

        Returns:
            The sentences, the most ambiguous first.

        Raises:
            DataError: If the format of a sentence has no place for the structures.
            SettingError: If prediction reads all structures, or only one.
        """
        few = self._require_few()
        if isinstance(few, Argmax) or few == TopK(1):
            raise SettingError(
                "the model reads a single structure of each sentence, so none is ambiguous"
            )
        least = nsmallest(count, self._heaviest(few, sentences), key=lambda pair: pair[0])
        return [sentence for _, sentence in least]

    def _structures(self, few: Estimator, sentence: Sentence) -> WeightedStructures:
        with self.predicting():
            distribution = self.distribution([sentence])
            selected = few(distribution)
            weights, order = selected.weights.sort(descending=True, stable=True)
            count = max(1, int((weights >= LEAST).sum()))
            events = distribution.from_parts(selected.parts[order[:count]].unsqueeze(1)).squeeze(1)
            pictures = self._pictures(sentence, events)
        rest = weights[count:]
        return WeightedStructures(
            pictures, weights[:count].tolist(), others=len(rest), rest=rest.sum().item()
        )

    def _pictures(self, sentence: Sentence, events: Tensor) -> list[Diagram]:
        """Draw structures of a sentence, in batches of limited size."""
        pictures: list[Diagram] = []
        for indices in batches(self.sizes([sentence]) * len(events), self.config.trainer.tokens):
            copies = self.collate([sentence] * len(indices), with_targets=False).to(self.device)
            pictures += self.drawn(copies, events[indices])
        return pictures

    def _heaviest(self, few: Estimator, sentences: Iterable[Sentence]) -> Iterator[tuple[float, Sentence]]:
        """Yield the weight of each sentence's heaviest structure (the least over its parts), and the sentence."""
        for window in windows(checked(sentences, self.require_usable)):
            for indices in batches(self.sizes(window), self.config.trainer.tokens):
                chosen = [window[index] for index in indices]
                parts = [part for sentence in chosen for part in self.parts(sentence)]
                with self.predicting():
                    selected = few(self.distribution(parts))
                    weights = selected.weights.new_zeros(len(parts))
                    weights = weights.scatter_reduce(0, selected.items, selected.weights, "amax")
                yield from zip(weights.reshape(len(chosen), -1).amin(1).tolist(), chosen, strict=True)

    def _require_few(self) -> Estimator:
        if self.few is None:
            raise SettingError(f"the model has no sparse distribution over structures; {self.few_hint}")
        return self.few


def few_of(estimator: Estimator) -> Estimator | None:
    """Return the estimator that selects the few structures read in prediction; None if all structures are read.

    Examples:
        >>> from strukt.nn.estimators import Relaxed, Sample
        >>> few_of(SparseMarginals(10)), few_of(Sample()), few_of(Relaxed())
        (SparseMAP(max_iterations=10, tol=1e-06), Argmax(gradient='straight-through', step=1.0), None)
    """
    used = estimator.in_prediction
    if isinstance(used, SparseMarginals):
        return SparseMAP(used.max_iterations, used.tol)
    return None if isinstance(used, Marginals) else used


def counts_of(mixture: Mixture, estimator: Estimator) -> list[int]:
    """Return the number of structures read in prediction for each item; an empty list if all structures are read.

    Args:
        mixture: The outputs for the structures that the estimator selected.
        estimator: The estimator that selected them.
    """
    few = few_of(estimator)
    if few is None:
        return []
    if few is estimator.in_prediction:
        return list(mixture.counts.tolist())
    return torch.bincount(few(mixture.structures).items, minlength=mixture.batch).tolist()
