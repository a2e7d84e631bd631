"""Models of tasks: they learn from sentences, are measured on others, and annotate sentences."""

from __future__ import annotations

import contextlib
import io
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from strukt.data.corpus import Readers
from strukt.data.sentence import Sentence
from strukt.data.vocabulary import Vocabulary
from strukt.errors import SettingError
from strukt.tasks.common.batch import Batch
from strukt.tasks.common.config import FittingConfig
from strukt.tasks.common.mean_loss import Average
from strukt.tasks.common.model_pictures import ModelPictures
from strukt.tasks.common.scores import usable_scores
from strukt.tasks.common.symbols import Forms
from strukt.viz.svg import Picture

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True)
class Measurement:
    """The quality of a model.

    Attributes:
        scores: By name; in percent where the name says nothing else.
        details: Tables of scores by label, by depth ...: name of the table, row, column.
    """

    scores: dict[str, float]
    details: dict[str, dict[str, dict[str, float]]]


class Undecided(NamedTuple):
    """A sentence, and how undecided a model is about it.

    Attributes:
        sentence: The sentence as it was read.
        entropy: That of what the model predicts of it, per word, in nats.
    """

    sentence: Sentence
    entropy: float


class Model(nn.Module, ModelPictures, ABC):
    """A trained or trainable model of a task.

    Args:
        config: The configuration of the task.
        vocabularies: What `from_corpus` counted.

    Attributes:
        task: Name of the task.
        outputs: The vocabularies of what it predicts, none of which is empty, and the form of their symbols.
        networks: The methods, its own and those of its modules, from tensors to tensors, in which prediction has
            all its weights, so that they can be exported; empty if prediction needs more.
        config: The configuration.
        vocabularies: The vocabularies.
        examples: Inputs of its development corpus, to be shown: each a text, or the two texts of a pair.
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
            sentences: What `trainable` gave.

        Raises:
            DataError: The corpus cannot train this model.
        """

    @classmethod
    def from_saved(cls, config: Any, vocabularies: dict[str, Vocabulary], assets: Path) -> Self:  # noqa: ARG003
        """Build a saved model, whose weights are loaded afterwards.

        Args:
            config: Its configuration.
            vocabularies: Its vocabularies.
            assets: The folder in which `save_assets` wrote.
        """
        return cls(config, vocabularies)

    def save_assets(self, folder: Path) -> None:
        """Write what is neither weight, nor vocabulary, nor configuration."""

    @classmethod
    @abstractmethod
    def trainable(cls, config: Any, sentences: Sequence[Sentence]) -> Sequence[Sentence]:
        """Return the sentences that the criterion can learn from; a warning tells of the others.

        Raises:
            DataError: A sentence lacks what the task predicts, or it is malformed.
        """

    @abstractmethod
    def require_annotated(self, sentence: Sentence) -> None:
        """Raise DataError if a sentence lacks what `measure` compares with."""

    @abstractmethod
    def collate(self, sentences: list[Sentence]) -> Batch:
        """Make a batch of what the loss reads, on the CPU."""

    @abstractmethod
    def loss(self, batch: Batch) -> Tensor:
        """Compute the mean loss, a scalar."""

    @property
    def mean_over(self) -> Average:
        """The words or the sentences, over which a loss is a mean; training weighs parts of a batch by them."""
        return "words"

    def penalty(self) -> Tensor | float:
        """Compute a term of the loss that does not depend on the batch."""
        return 0.0

    @property
    def unit(self) -> str:
        """Name of what `sizes` counts, in the plural."""
        return "words"

    def sizes(self, sentences: Sequence[Sentence]) -> list[int]:
        """Count what the model reads of each sentence; `trainer.tokens` bounds it in a batch, padding included.

        The padded size of a batch, known before it is made, is the number of its sentences times the greatest
        count.

        Args:
            sentences: What they are annotated with is not read.

        Returns:
            The number of words of each, or of what `unit` names.
        """
        return [len(sentence) for sentence in sentences]

    def rates(self) -> Mapping[str, float]:
        """Return the shares of the learning rate that some parameters have, by name; all others have 1."""
        return {}

    def calibrate(self, sentences: Sequence[Sentence]) -> None:
        """Count on the training corpus what is not learned by gradients; before each evaluation in training."""

    @abstractmethod
    def measure(self, sentences: Iterable[Sentence]) -> Measurement:
        """Compute the field's metrics on annotated sentences.

        Args:
            sentences: A corpus with gold annotation.
        """

    def evaluate(self, sentences: Iterable[Sentence]) -> dict[str, float]:
        """Return the scores of `measure`.

        Args:
            sentences: A corpus with gold annotation.
        """
        return self.measure(sentences).scores

    @abstractmethod
    def quality(self, scores: Mapping[str, float]) -> float:
        """Return the number that chooses the best epoch: the higher, the better."""

    def predict(
        self, sentences: str | Iterable[Sentence | str | list[str]], probabilities: bool = False
    ) -> Iterator[Sentence]:
        """Annotate sentences in their order, as they come, in constant memory.

        Args:
            sentences: Any number of sentences; what they are annotated with is not read. A string is plain text as
                in a file: a sentence on each line, its words separated by spaces. A list of words is a sentence.
            probabilities: Also note the probability of each predicted part.

        Yields:
            The sentences with the predictions in the place of what they were annotated with.

        Raises:
            DataError: The format of a sentence has no place for the predictions, or a string holds no word.
            SettingError: Something is no sentence.
        """
        return self.annotations(self._sentences_of(sentences), probabilities)

    @abstractmethod
    def annotations(self, sentences: Iterable[Sentence], probabilities: bool = False) -> Iterator[Sentence]:
        """Annotate as `predict` does, sentences that are no strings."""

    @abstractmethod
    def diagrams(self, sentences: Iterable[Sentence], probabilities: bool = False) -> Iterator[Picture]:
        """Draw the predictions, in the order of the sentences.

        Args:
            sentences: Any number of sentences; what they are annotated with is not read.
            probabilities: Also how probable each predicted part is.
        """

    def infill(self, sentences: Iterable[Sentence], mark: str) -> Iterator[list[str]]:  # noqa: ARG002
        """Fill the missing words of sentences with the most probable one of each place.

        Args:
            sentences: The sentences.
            mark: What stands for a missing word.

        Raises:
            SettingError: The model does not know missing words.
        """
        raise SettingError("--infill needs a language model (task lm with hidden states, or mlm)")

    def most_undecided(self, sentences: Iterable[Sentence], count: int) -> list[Undecided]:  # noqa: ARG002
        """Find the sentences whose annotation would teach the model most: those of the largest entropy per word.

        Source: Settles and Craven (2008), "An analysis of active learning strategies for sequence labeling tasks".

        Args:
            sentences: Any number; what they are annotated with is not read.
            count: The number of sentences to find.

        Returns:
            At most so many, the largest entropy first; of equal ones (to four digits) in the order of the corpus.

        Raises:
            DataError: If the format of a sentence has no place for the predictions.
            SettingError: If the model does not score structures that it predicts.
        """
        raise SettingError(
            f"a model of the task {self.task} has no distribution over structures that it predicts; "
            "give one of the tasks tag, dependency, constituency or ner"
        )

    def readers(self) -> Readers:
        """Return the readers of what this model annotates, by the formats of the files."""
        config: FittingConfig = self.config
        return config.readers

    def _sentences_of(self, sentences: str | Iterable[Sentence | str | list[str]]) -> Iterator[Sentence]:
        """The sentences, with those that strings hold in the place of these."""
        if not isinstance(sentences, Iterable):
            raise SettingError(f"sentences is {sentences!r}; expected text, or a list of sentences")
        for each in [sentences] if isinstance(sentences, str) else sentences:
            if isinstance(each, Sentence):
                yield each
            else:
                yield from self.readers()["text"](
                    io.StringIO(each if isinstance(each, str) else _joined(each))
                )

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(chain(self.parameters(), self.buffers()), torch.empty(0)).device

    @contextlib.contextmanager
    def predicting(self) -> Iterator[None]:
        """Without dropout and without gradients.

        Raises:
            ScoresError: What is computed within cannot use the scores.
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


def _joined(words: object) -> str:
    """A list of words as plain text.

    Raises:
        SettingError: It is no such list, or a word has a space.
    """
    each: list[Any] = list(words) if isinstance(words, list | tuple) else [None]
    if not all(isinstance(word, str) and len(word.split()) == 1 for word in each):
        raise SettingError(f"a sentence is {words!r}; expected text, a list of words, or a Sentence")
    return " ".join(each)
