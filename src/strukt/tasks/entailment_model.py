"""The model of natural language inference: two sentences are compared word by word, along an alignment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional
from typing_extensions import override

from strukt.data import conllu
from strukt.data.pairs import Pair
from strukt.data.sentence import Sentence
from strukt.data.vocabulary import Vocabulary
from strukt.errors import DataError
from strukt.nn.decomposable_attention import Comparison, DecomposableAttention
from strukt.nn.structured_attention import StructuredAttention
from strukt.tasks.batch import Batch
from strukt.tasks.class_model import ClassModel
from strukt.tasks.classifier import ClassPrediction
from strukt.tasks.nli import Config
from strukt.viz.diagram import Diagram
from strukt.viz.heat_map import HeatMap


@dataclass(frozen=True)
class EntailmentPrediction(ClassPrediction):
    """The class of a pair of sentences, and the alignment that led to it.

    Attributes:
        weights: Of each word of the premise with each of the hypothesis.
    """

    weights: Sequence[Sequence[float]]

    @override
    def diagram(self, sentence: Sentence) -> HeatMap:
        """The alignment: a row for each word of the premise, a column for each of the hypothesis."""
        pair, label = _pair(sentence), self.ranking[0]
        title = f"{label} ({self.probabilities[label]:.2f})"
        return HeatMap(title, pair.premise, pair.hypothesis, self.weights)


class EntailmentModel(ClassModel):
    """Predicts what a premise says of a hypothesis by `DecomposableAttention` over the vectors of their words."""

    task: ClassVar[str] = "nli"
    config: Config

    def __init__(
        self, config: Config, vocabularies: dict[str, Vocabulary], assets: Path | None = None
    ) -> None:
        super().__init__(config, vocabularies, assets)
        self.compare = DecomposableAttention(
            self.encoder.size,
            config.size,
            len(vocabularies["labels"]),
            StructuredAttention(config.attention, config.iterations or None),
            config.encoder.dropout,
        )

    @override
    def collate(self, sentences: list[Sentence], with_targets: bool = True) -> Batch:
        """As of any model, but inputs and lengths are of all premises and then of all hypotheses."""
        pairs = [_pair(sentence) for sentence in sentences]
        forms = [pair.premise for pair in pairs] + [pair.hypothesis for pair in pairs]
        lengths = torch.tensor([len(words) for words in forms], dtype=torch.long)
        targets: dict[str, Tensor] = {}
        if with_targets and pairs:
            targets = {"label": torch.stack([self.targets(pair)["label"] for pair in pairs])}
        return Batch(sentences, lengths, self.encoder.inputs(forms), targets)

    @override
    def loss(self, batch: Batch) -> Tensor:
        """The mean negative log-likelihood of a pair's class."""
        return functional.cross_entropy(self._compared(batch).scores, batch.targets["label"].squeeze(1))

    @override
    def predict_batch(self, batch: Batch, probabilities: bool = False) -> list[EntailmentPrediction]:
        """The most probable classes; `links` of a prediction are the weights above 0, for each word."""
        scores, (weights, *_) = self._compared(batch)
        symbols, predictions = self.vocabularies["labels"].symbols, []
        for row, (n, m) in enumerate(_sizes(batch).tolist()):
            own = weights[row, :n, :m]
            shares = {"links": (float((own > 0).sum()), float(n + m))}
            likely = dict(zip(symbols, scores[row].softmax(-1).tolist(), strict=True))
            predictions.append(EntailmentPrediction(likely, probabilities, shares, own.tolist()))
        return predictions

    @override
    def require_usable(self, sentence: Sentence) -> None:
        """There have to be two sentences."""
        _pair(sentence)

    @override
    def channels(self, sentence: Sentence) -> list[Diagram]:
        """Those of the premise, then those of the hypothesis."""
        pair = _pair(sentence)
        premise, hypothesis = map(conllu.from_forms, (pair.premise, pair.hypothesis))
        return super().channels(premise) + super().channels(hypothesis)

    def _compared(self, batch: Batch) -> Comparison:
        premises, hypotheses = self.encoder(batch.inputs, batch.lengths).chunk(2)
        sizes = _sizes(batch)
        n, m = sizes.amax(0).tolist()
        found: Comparison = self.compare(premises[:, :n], hypotheses[:, :m], sizes)
        return found._replace(scores=found.scores.float())


def _sizes(batch: Batch) -> Tensor:
    """``(batch, 2)``, the numbers of words of premises and hypotheses."""
    return batch.lengths.reshape(2, -1).T


def _pair(sentence: Sentence) -> Pair:
    if not isinstance(sentence, Pair):
        raise DataError("the model needs pairs of sentences", sentence.path, sentence.line)
    return sentence
