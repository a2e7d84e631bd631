"""The reverse dictionary: a ranking of words for each definition."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional
from typing_extensions import Self, override

from strukt.data.sentence import Sentence
from strukt.data.vocabulary import Vocabulary, word_vectors
from strukt.errors import DataError
from strukt.metrics.ranks import Ranks
from strukt.nn import Mixture
from strukt.tasks.classify.model import Classifier
from strukt.tasks.common.batch import Batch
from strukt.tasks.common.classes.model import label_of
from strukt.tasks.common.classes.prediction import ClassPrediction
from strukt.tasks.common.encoder.base import Encoder
from strukt.tasks.common.encoder.build import build_encoder
from strukt.tasks.common.prediction import Prediction
from strukt.tasks.common.scores import not_nan
from strukt.tasks.common.sentences import trainable_sentences
from strukt.tasks.dictionary.config import Config
from strukt.tasks.dictionary.prediction import DefinedWords, NearWords
from strukt.tensor_file import write_tensor_file

VECTORS = "vectors.safetensors"
"""File with the given word vectors, in the folder `encoder` of a saved model."""


class ReverseDictionary(Classifier):
    r"""A reverse dictionary: ranks words for a definition, by probability or by cosine with given word vectors.

    With given word vectors, the vector that the encoder computes for a definition is projected to their size and
    normalised. For a definition with latent trees, the vector of each tree is projected and normalised, and their
    mean is normalised again. The loss is 1 minus the cosine of the result with the vector of the defined word.

    Source: Hill, Cho, Korhonen and Bengio (2016), "Learning to understand phrases by embedding the dictionary";
    Niculae, Martins and Cardie (2018), "Towards dynamic computation graphs via sparse latent structure".

    Args:
        config: The configuration of the task.
        vocabularies: The vocabularies of the encoder and of the words, `labels`, by name.
        encoder: Computes vectors from the forms of words.
        vectors: ``(words, size)``, the given vector of each word of `labels`, which is then normalised; None to
            rank words by probability.

    Raises:
        ValueError: If the number of vectors differs from that of the words.

    Examples:
        >>> from strukt.tasks.dictionary import Config
        >>> import io
        >>> from strukt.data.classes import labelled
        >>> sentences = [*labelled.read(io.BytesIO(b"puppy\ta young dog\nkitten\ta young cat\n"))]
        >>> model = ReverseDictionary.from_corpus(Config(), sentences)
        >>> [annotated] = model.predict("a young dog")
        >>> annotated.label in ("puppy", "kitten"), list(model.measure(sentences).scores)
        (True, ['accuracy@1', 'accuracy@10', 'accuracy@100', 'median rank'])
    """

    task: ClassVar[str] = "dictionary"
    config: Config
    prediction: ClassVar[type[ClassPrediction]] = DefinedWords

    def __init__(
        self,
        config: Config,
        vocabularies: dict[str, Vocabulary],
        encoder: Encoder,
        vectors: Tensor | None = None,
    ) -> None:
        super().__init__(config, vocabularies, encoder)
        self.vectors: Tensor | None
        unit = None if vectors is None else functional.normalize(vectors, dim=-1)
        self.register_buffer("vectors", unit, persistent=False)
        if self.vectors is not None:
            if len(self.vectors) != len(vocabularies["labels"]):
                raise ValueError(f"{len(self.vectors)} vectors for {len(vocabularies['labels'])} words")
            self.score = nn.Linear(self.score.in_features, self.vectors.shape[1])

    @classmethod
    @override
    def build(cls, config: Any, vocabularies: dict[str, Vocabulary], assets: Path | None) -> Self:
        """Build a model with the word vectors of the configuration's file, or the saved ones.

        Raises:
            DataError: If the word vectors cannot be read.
        """
        encoder = build_encoder(config.encoder, vocabularies, assets)
        return cls(config, vocabularies, encoder, _vectors_of(config, assets))

    @classmethod
    @override
    def trainable(cls, config: Any, sentences: Sequence[Sentence]) -> Sequence[Sentence]:
        """Return the definitions of words that have a vector; without given vectors, all definitions.

        Raises:
            DataError: If no word has a vector, or the file of vectors cannot be read.
        """
        sentences = super().trainable(config, sentences)
        if not config.vectors:
            return sentences
        words, _ = word_vectors.read(config.vectors)
        known = [label_of(sentence) in words for sentence in sentences]
        if not any(known):
            raise DataError(f"none of its words has a vector in {config.vectors}", config.train)
        return trainable_sentences(sentences, known, "definitions are of words without a vector in --vectors")

    @classmethod
    @override
    def labels_of(cls, config: Any, sentences: Sequence[Sentence]) -> dict[str, Vocabulary]:
        """Return all words with a given vector; without given vectors, the words that the corpus defines."""
        if config.vectors:
            return {"labels": word_vectors.read(config.vectors)[0]}
        return super().labels_of(config, sentences)

    @property
    @override
    def selection(self) -> str:
        return "accuracy@10"

    @override
    def loss(self, batch: Batch) -> Tensor:
        """Return 1 minus the mean cosine with the given vectors; without them, the loss of a classifier."""
        if self.vectors is None:
            return super().loss(batch)
        targets = self.vectors[batch.targets["label"].squeeze(1)]
        return 1 - (self._read_vectors(self._read(batch)) * targets).sum(-1).mean()

    @override
    def predict_batch(self, batch: Batch, probabilities: bool = False) -> list[ClassPrediction]:
        if self.vectors is None:
            return super().predict_batch(batch, probabilities)
        mixture = self._read(batch)
        cosines = not_nan(self._read_vectors(mixture) @ self.vectors.T)
        words = self.vocabularies["labels"].symbols
        rows = [dict(zip(words, row, strict=True)) for row in cosines.tolist()]
        shares = self.shares_of(mixture, len(rows))
        return [NearWords(row, probabilities, share) for row, share in zip(rows, shares, strict=True)]

    @override
    def metric(self) -> Ranks:  # type: ignore[override]
        """Return the metric: how often the word ranks among the first 1, 10 and 100, and its median rank."""
        return Ranks()

    @override
    def compared(self, gold: Sentence, prediction: Prediction) -> list[str]:
        """Return the ranked words, the best first."""
        assert isinstance(prediction, ClassPrediction)
        return prediction.ranking

    @override
    def save_assets(self, folder: Path) -> None:
        """Write the files of the encoder and the given vectors to the folder."""
        super().save_assets(folder)
        if self.vectors is not None:
            folder.mkdir(parents=True, exist_ok=True)
            write_tensor_file(folder / VECTORS, {"vectors": self.vectors.cpu().contiguous()})

    def _read_vectors(self, mixture: Mixture) -> Tensor:
        """Return the normalised vector of each definition, ``(batch, size)``."""
        of_trees = functional.normalize(self.class_scores(mixture.outputs), dim=-1)
        return functional.normalize(mixture.expected(of_trees), dim=-1)


def _vectors_of(config: Config, assets: Path | None) -> Tensor | None:
    """Return the word vectors of a saved model, or of the configuration's file; None if it names no file.

    Raises:
        DataError: If the word vectors cannot be read.
    """
    if not config.vectors:
        return None
    if assets is None:
        return torch.from_numpy(word_vectors.read(config.vectors)[1])
    try:
        return load_file(assets / VECTORS)["vectors"]
    except (OSError, SafetensorError, KeyError) as error:
        raise DataError(f"the vectors of words cannot be read ({error})", assets / VECTORS) from None
