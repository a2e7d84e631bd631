"""Encoders, which compute a vector for each word from the forms of a sentence."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path

from torch import Tensor, nn

from strukt.data.vocabulary import UNKNOWN
from strukt.nn.probabilistic_transformer import Encoding


class Encoder(nn.Module, ABC):
    """An encoder of sentences: it computes a vector for each word from the forms of the words.

    A subclass, such as `FromWords`, sets `size` and `sentence_size`, and implements `inputs` and `forward`.

    Attributes:
        size: Size of the vectors of words.
        sentence_size: Size of the vector of a sentence.
        unit: Plural noun for the units that `sizes` counts.
        unknown: A form that the encoder reads as an unknown word.
        networks: Names of the methods that `with_vectors` calls to compute vectors; see `Model.networks`.
    """

    size: int
    sentence_size: int
    unit: str = "words"
    unknown: str = UNKNOWN
    networks: tuple[str, ...] = ()

    @abstractmethod
    def inputs(self, sentences: list[list[str]]) -> dict[str, Tensor]:
        """Return the inputs of `forward` by name, on the CPU.

        Args:
            sentences: The words of each sentence.

        Returns:
            Tensors of indices; their names and shapes depend on the encoder.
        """

    @abstractmethod
    def forward(self, inputs: dict[str, Tensor], lengths: Tensor) -> Tensor:
        """Return the vectors of words in context, ``(batch, n, size)``.

        Args:
            inputs: The tensors that the method `inputs` returns, on the device of the encoder.
            lengths: ``(batch,)``, the numbers of words.
        """

    def with_vectors(self, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return inputs with precomputed vectors of forms, without dropout; `forward` then adds the context.

        By default, the inputs are returned unchanged.

        Args:
            inputs: The tensors that the method `inputs` returns, on the device of the encoder.

        Returns:
            Tensors by name; their shapes depend on the encoder.
        """
        return inputs

    def sizes(self, sentences: list[list[str]]) -> list[int]:
        """Return the size of each of the sentences, counted in `unit`; by default, its number of words."""
        return [len(forms) for forms in sentences]

    def mean_field(self, inputs: dict[str, Tensor], lengths: Tensor) -> Encoding | None:  # noqa: ARG002
        """Return all mean-field distributions of a Probabilistic Transformer; None for other encoders.

        The arguments, `inputs` and `lengths`, are those of `forward`.
        """
        return None

    def of_sentences(self, inputs: dict[str, Tensor], lengths: Tensor) -> Tensor:
        """Return the vectors of sentences, ``(batch, sentence_size)``: by default, those of their last words.

        The arguments, `inputs` and `lengths`, are those of `forward`.
        """
        vectors = self(inputs, lengths)
        last = (lengths - 1).clamp(min=0).reshape(-1, 1, 1).expand(-1, -1, vectors.shape[-1])
        result: Tensor = vectors.gather(1, last).squeeze(1)
        return result

    def penalty(self) -> Tensor | float:
        """Return a term of the loss that does not depend on sentences, a scalar; 0 by default."""
        return 0.0

    def rates(self) -> dict[str, float]:
        """Return factors of the learning rate by names of parameters; 1 for parameters that are not listed."""
        return {}

    def save_assets(self, folder: Path) -> None:
        """Write files other than weights, vocabularies and configuration to a folder; none by default."""
