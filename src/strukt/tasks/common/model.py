"""Models of tasks: they learn from sentences, are evaluated on sentences, and annotate sentences."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn

from strukt.data.batching import batches
from strukt.data.corpus import Readers
from strukt.data.sentence import Sentence
from strukt.data.vocabulary import Vocabulary
from strukt.errors import SettingError
from strukt.tasks.common.batch import Batch
from strukt.tasks.common.config import FittingConfig
from strukt.tasks.common.inputs import Inputs, sentences_of
from strukt.tasks.common.mean_loss import Average
from strukt.tasks.common.measurement import Measurement, Undecided
from strukt.tasks.common.model_pictures import ModelPictures
from strukt.tasks.common.scores import usable_scores
from strukt.tasks.common.symbols import Forms
from strukt.viz.svg import Picture

if TYPE_CHECKING:
    from typing_extensions import Self


class Model(nn.Module, ModelPictures, ABC):
    """A model of a task, trained or not.

    A subclass sets `task` and implements `from_corpus`, `trainable`, `require_annotated`, `collate`, `loss`,
    `measure`, `quality`, `annotations` and `diagrams`.

    Args:
        config: The configuration of the task.
        vocabularies: The vocabularies by name, as `from_corpus` counts them.

    Attributes:
        task: Name of the task.
        outputs: For each vocabulary of predicted symbols, which must not be empty, the pattern of its symbols.
        networks: Names of methods from tensors to tensors, of the model or its modules, that together use all
            weights needed in prediction; these can be exported. Empty if there are no such methods.
        config: The configuration of the task.
        vocabularies: The vocabularies by name.
        examples: Example inputs from the development corpus: each a text, or the two texts of a pair.
    """

    task: ClassVar[str]
    outputs: ClassVar[Forms] = {}
    networks: tuple[str, ...] = ()

    def __init__(self, config: Any, vocabularies: dict[str, Vocabulary]) -> None:
        super().__init__()
        self.config = config
        self.vocabularies = vocabularies
        self.examples: list[tuple[str, ...]] = []

    @classmethod
    @abstractmethod
    def from_corpus(cls, config: Any, sentences: Sequence[Sentence]) -> Self:
        """Build a new model with the vocabularies of a training corpus.

        Args:
            config: The configuration of the task.
            sentences: The training corpus, as `trainable` returns it.

        Raises:
            DataError: If the corpus cannot train this model.
        """

    @classmethod
    def from_saved(cls, config: Any, vocabularies: dict[str, Vocabulary], assets: Path) -> Self:  # noqa: ARG003
        """Build a saved model without its weights, which are loaded afterwards.

        Args:
            config: The saved configuration.
            vocabularies: The saved vocabularies by name.
            assets: The folder that `save_assets` wrote to.
        """
        return cls(config, vocabularies)

    def save_assets(self, folder: Path) -> None:
        """Write files of the model other than weights, vocabularies and configuration; none by default.

        Args:
            folder: The folder to write to, which `from_saved` reads as `assets`.
        """

    @classmethod
    @abstractmethod
    def trainable(cls, config: Any, sentences: Sequence[Sentence]) -> Sequence[Sentence]:
        """Return the sentences that the criterion can learn from; a warning counts those left out.

        Args:
            config: The configuration of the task.
            sentences: The training corpus.

        Raises:
            DataError: If a sentence has no annotation for this task, or is malformed.
        """

    @abstractmethod
    def require_annotated(self, sentence: Sentence) -> None:
        """Raise a DataError if a sentence has no annotation to compare predictions with."""

    @abstractmethod
    def collate(self, sentences: list[Sentence]) -> Batch:
        """Make a batch of annotated sentences for `loss`, on the CPU."""

    def collated(self, sentences: Sequence[Sentence]) -> Iterator[Batch]:
        """Yield batches of sentences of similar length, as from `collate`, on the device of the model."""
        for indices in batches(self.sizes(sentences), self.config.trainer.tokens):
            yield self.collate([sentences[index] for index in indices]).to(self.device)

    @abstractmethod
    def loss(self, batch: Batch) -> Tensor:
        """Return the mean loss of a batch, a scalar.

        Args:
            batch: At least one sentence, from `collate`, on the device of the model.
        """

    @property
    def mean_over(self) -> Average:
        """Unit over which `loss` is a mean, ``words`` or ``sentences``; `weight` counts these units."""
        return "words"

    def weight(self, sentences: Sequence[Sentence]) -> int:
        """Return the number of units of `mean_over` in sentences; it weights the losses of parts of a batch."""
        return len(sentences) if self.mean_over == "sentences" else sum(map(len, sentences))

    def penalty(self) -> Tensor | float:
        """Return a term of the loss that does not depend on the batch, a scalar; 0 by default."""
        return 0.0

    @property
    def unit(self) -> str:
        """Plural noun for the units that `sizes` counts."""
        return "words"

    def sizes(self, sentences: Sequence[Sentence]) -> list[int]:
        """Return the size of each sentence as input of the model, counted in `unit`.

        The number of sentences in a batch times the largest size is at most `trainer.tokens`; in prediction, a
        longer sentence is alone in its batch.

        Args:
            sentences: The sentences; their annotation is ignored.
        """
        return [len(sentence) for sentence in sentences]

    def rates(self) -> Mapping[str, float]:
        """Return factors of the learning rate by names of parameters; 1 for parameters that are not listed."""
        return {}

    def calibrate(self, sentences: Sequence[Sentence]) -> None:
        """Count the statistics that are not learned by gradients; called before each evaluation in training.

        Args:
            sentences: The training corpus, as `trainable` returns it.
        """

    @abstractmethod
    def measure(self, sentences: Iterable[Sentence]) -> Measurement:
        """Compute the field's metrics on annotated sentences.

        Args:
            sentences: A corpus with gold annotation, at least one sentence.

        Raises:
            DataError: If a sentence cannot be evaluated, for example because its annotation is missing.
        """

    def evaluate(self, sentences: Iterable[Sentence]) -> dict[str, float]:
        """Return the scores of `measure`.

        Args:
            sentences: A corpus with gold annotation.

        Raises:
            DataError: If `measure` raises it.
        """
        return self.measure(sentences).scores

    @abstractmethod
    def quality(self, scores: Mapping[str, float]) -> float:
        """Return the score that selects the best epoch, from the scores of `measure`: the higher, the better."""

    def predict(
        self, sentences: Inputs, probabilities: bool = False
    ) -> Iterator[Sentence]:
        """Annotate sentences lazily, in their order and in constant memory.

        Args:
            sentences: Any number of sentences; their annotation is ignored. A string is plain text as in a file: a
                sentence on each line, its words separated by spaces. A list of words is a sentence.
            probabilities: Also note the probability of each predicted tag, arc, span or class.

        Yields:
            The sentences, with the predictions in place of their annotation.

        Raises:
            DataError: If the format of a sentence has no place for the predictions, or a string or a list holds no
                word.
            SettingError: If an item is not a sentence, a string or a list of words, or if a word of a list is
                empty or has white space.
        """
        return self.annotations(sentences_of(sentences, self.readers()["text"]), probabilities)

    @abstractmethod
    def annotations(self, sentences: Iterable[Sentence], probabilities: bool = False) -> Iterator[Sentence]:
        """Annotate sentences, as `predict` does; strings and lists of words are not allowed.

        Args:
            sentences: Any number of sentences; their annotation is ignored.
            probabilities: Also note the probability of each predicted tag, arc, span or class.
        """

    @abstractmethod
    def diagrams(self, sentences: Iterable[Sentence], probabilities: bool = False) -> Iterator[Picture]:
        """Draw the predictions, in the order of the sentences.

        Args:
            sentences: Any number of sentences; their annotation is ignored.
            probabilities: Also show the probability of each predicted tag, arc, span or class.
        """

    def infill(self, sentences: Iterable[Sentence], mark: str) -> Iterator[list[str]]:  # noqa: ARG002
        """Yield the words of each sentence, with the most probable word in place of each missing word.

        Args:
            sentences: Sentences with missing words.
            mark: The word that stands for a missing word.

        Raises:
            SettingError: If the model does not predict missing words.
        """
        raise SettingError("--infill needs a language model (task lm with hidden states, or mlm)")

    def most_undecided(self, sentences: Iterable[Sentence], count: int) -> list[Undecided]:  # noqa: ARG002
        """Return the sentences that are most worth annotating: those with the largest entropy per word.

        Source: Settles and Craven (2008), "An analysis of active learning strategies for sequence labeling tasks".

        Args:
            sentences: Any number of sentences; their annotation is ignored.
            count: Maximum number of sentences to return.

        Returns:
            The sentences by decreasing entropy; those with equal entropies (to four decimals) in the order given.

        Raises:
            DataError: If the format of a sentence has no place for the predictions.
            SettingError: If the model has no distribution over the structures that it predicts, or one over binary
                codes of spans.
        """
        raise SettingError(
            f"a model of the task {self.task} has no distribution over predicted structures; "
            "give a model of the task tag, dependency, constituency, ner or pipeline"
        )

    def readers(self) -> Readers:
        """Return the readers of the files that this model annotates, by format."""
        config: FittingConfig = self.config
        return config.readers

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return next(chain(self.parameters(), self.buffers()), torch.empty(0)).device

    @contextlib.contextmanager
    def predicting(self) -> Iterator[None]:
        """Switch off dropout and gradients in a `with` block.

        Raises:
            ScoresError: If a computation in the block fails because of the scores of the model.
        """
        in_training = [module for module in self.modules() if module.training]
        for module in in_training:
            module.training = False
        try:
            with torch.inference_mode(), usable_scores():
                yield
        finally:
            for module in in_training:
                module.training = True
