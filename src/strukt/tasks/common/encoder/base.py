"""Encoders: from the forms of sentences to a vector for each word."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path

from torch import Tensor, nn

from strukt.data.vocabulary import UNKNOWN
from strukt.nn.probabilistic_transformer import Encoding


class Encoder(nn.Module, ABC):
    """An encoder of sentences: from the forms of their words to a vector for each word.

    Attributes:
        size: Size of these vectors.
        sentence_size: Size of the vector of a sentence.
        unit: Name of what is read, in the plural.
        unknown: A form that is read as an unknown word.
        networks: The methods in `with_vectors` that have weights; see `Model.networks`.
    """

    size: int
    sentence_size: int
    unit: str = "words"
    unknown: str = UNKNOWN
    networks: tuple[str, ...] = ()

    @abstractmethod
    def inputs(self, sentences: list[list[str]]) -> dict[str, Tensor]:
        """Make the tensors that `forward` reads, on the CPU."""

    @abstractmethod
    def forward(self, inputs: dict[str, Tensor], lengths: Tensor) -> Tensor:
        """Encode words: vectors `(batch, n, size)`."""

    def with_vectors(self, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        """Look up what does not depend on the sentence, in evaluation; `forward` then only reads the rest."""
        return inputs

    def sizes(self, sentences: list[list[str]]) -> list[int]:
        """Count what is read of each sentence: its words."""
        return [len(forms) for forms in sentences]

    def mean_field(self, inputs: dict[str, Tensor], lengths: Tensor) -> Encoding | None:  # noqa: ARG002
        """Return all that mean field says of the words, if it encodes them."""
        return None

    def of_sentences(self, inputs: dict[str, Tensor], lengths: Tensor) -> Tensor:
        """Encode sentences: for each the vector of its last word, `(batch, sentence_size)`."""
        vectors = self(inputs, lengths)
        last = (lengths - 1).clamp(min=0).reshape(-1, 1, 1).expand(-1, -1, vectors.shape[-1])
        found: Tensor = vectors.gather(1, last).squeeze(1)
        return found

    def penalty(self) -> Tensor | float:
        """Compute a term of the loss that does not depend on sentences."""
        return 0.0

    def rates(self) -> dict[str, float]:
        """Return the shares of the learning rate that some parameters have, by name; all others have 1."""
        return {}

    def save_assets(self, folder: Path) -> None:
        """Write what is neither weight, nor vocabulary, nor configuration."""
