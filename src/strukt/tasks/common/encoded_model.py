"""Models that read sentences with an encoder."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from typing_extensions import Self, override

from strukt.data.sentence import Sentence
from strukt.data.vocabulary import Vocabulary
from strukt.tasks.common.channel_pictures import channel_diagrams
from strukt.tasks.common.encoder.base import Encoder
from strukt.tasks.common.encoder.build import build_encoder, count_vocabularies
from strukt.tasks.common.model import Model
from strukt.tasks.common.sentences import require_sentences
from strukt.viz import Diagram


class EncodedModel(Model):
    """A model that reads sentences with an encoder.

    In addition to the methods of `Model`, other than `from_corpus`, a subclass implements `labels_of`.

    Args:
        config: The configuration of the task.
        vocabularies: The vocabularies of the encoder and of the labels, by name.
        encoder: Computes vectors from the forms of words.

    Attributes:
        encoder: The encoder.
    """

    def __init__(self, config: Any, vocabularies: dict[str, Vocabulary], encoder: Encoder) -> None:
        super().__init__(config, vocabularies)
        self.encoder = encoder

    @classmethod
    def build(cls, config: Any, vocabularies: dict[str, Vocabulary], assets: Path | None) -> Self:
        """Build a model with the encoder that its configuration specifies.

        Args:
            config: The configuration of the task.
            vocabularies: The vocabularies of the encoder and of the labels, by name.
            assets: The folder with the files of a saved pretrained encoder; None for a new model.

        Raises:
            DataError: If the files of a pretrained encoder cannot be loaded.
            SettingError: If the options of fine-tuning do not fit the pretrained model.
            MissingExtraError: If transformers is not installed, or peft for LoRA adapters.
        """
        return cls(config, vocabularies, build_encoder(config.encoder, vocabularies, assets))

    @classmethod
    @override
    def from_corpus(cls, config: Any, sentences: Sequence[Sentence]) -> Self:
        """Build a model with the vocabularies of the encoder and of the labels.

        Raises:
            DataError: If the corpus cannot train this model.
        """
        require_sentences(config, sentences)
        model = cls.build(config, cls.words_of(config, sentences) | cls.labels_of(config, sentences), None)
        model.start_from(sentences)
        return model

    def start_from(self, sentences: Sequence[Sentence]) -> None:
        """Set those initial weights that depend on the sentences of the training corpus; none by default."""

    @classmethod
    @override
    def from_saved(cls, config: Any, vocabularies: dict[str, Vocabulary], assets: Path) -> Self:
        """Build a saved model without its weights."""
        return cls.build(config, vocabularies, assets)

    @override
    def penalty(self) -> Tensor | float:
        """Return the penalty of the encoder, a scalar."""
        return self.encoder.penalty()

    @property
    @override
    def unit(self) -> str:
        """Plural noun for the units that `sizes` counts: those of the encoder."""
        return self.encoder.unit

    @override
    def sizes(self, sentences: Sequence[Sentence]) -> list[int]:
        """Return the size of each sentence as input of the encoder."""
        return self.encoder.sizes([self.forms_of(self.config, sentence) for sentence in sentences])

    @override
    def rates(self) -> dict[str, float]:
        """Return the factors of the learning rate for parameters of the encoder, by their names in the model."""
        return {f"encoder.{name}": rate for name, rate in self.encoder.rates().items()}

    @override
    def channels(self, sentence: Sentence) -> list[Diagram]:
        """Draw the heads of a sentence in each channel of a Probabilistic Transformer; none for other encoders."""
        forms = self.forms_of(self.config, sentence)
        inputs = {name: part.to(self.device) for name, part in self.encoder.inputs([forms]).items()}
        with self.predicting():
            encoding = self.encoder.mean_field(inputs, torch.tensor([len(forms)], device=self.device))
        return [] if encoding is None else channel_diagrams(encoding, forms)

    @override
    def save_assets(self, folder: Path) -> None:
        """Write the tokenizer and the configuration of a pretrained encoder."""
        self.encoder.save_assets(folder)

    @classmethod
    def forms_of(cls, config: Any, sentence: Sentence) -> list[str]:  # noqa: ARG003
        """Return the words that the encoder reads; by default, those of the sentence."""
        return sentence.forms

    @classmethod
    def words_of(cls, config: Any, sentences: Sequence[Sentence]) -> dict[str, Vocabulary]:
        """Return the vocabularies of the encoder."""
        forms = (form for sentence in sentences for form in cls.forms_of(config, sentence))
        return count_vocabularies(config.encoder, forms)

    @classmethod
    @abstractmethod
    def labels_of(cls, config: Any, sentences: Sequence[Sentence]) -> dict[str, Vocabulary]:
        """Return the vocabularies of the predicted symbols by name.

        Args:
            config: The configuration of the task.
            sentences: The training corpus.

        Raises:
            DataError: If the corpus has too few symbols to learn from.
        """
