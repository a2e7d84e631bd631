"""Spans with binary codes in place of labels: the best trees, and the labels of their codes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from torch import Tensor
from torch.nn import functional

from strukt.data.constituents.binarisation import EMPTY
from strukt.data.vocabulary import Vocabulary
from strukt.data.vocabulary.codes import CodeVocabulary
from strukt.distributions import BitSpanTree, SpanTree
from strukt.errors import SettingError
from strukt.structures.bit_span_tree.codes import to_codes
from strukt.tasks.common.code_counts import CountedCodes
from strukt.tasks.common.scores import not_nan
from strukt.tasks.common.spans.config import SpanTaskConfig
from strukt.tasks.common.spans.layer import GoldSpans, SpanLayer, spans_of
from strukt.tasks.common.spans.prediction import PredictedSpan


class CodeSpans(CountedCodes, SpanLayer):
    """A layer that predicts trees whose spans have binary codes, and translates the codes into labels.

    A subclass implements `scores` and `loss`.

    Source: Wang and Utiyama (2024), "To be continuous, or to be discrete, those are bits of questions".

    Args:
        config: The configuration of the task.
        labels: The labels of spans in the training corpus.

    Attributes:
        vocabulary: The counts of the labels of each code; empty until `calibrate` counts them.
    """

    views: ClassVar[int] = 2

    def __init__(self, config: SpanTaskConfig, labels: Vocabulary) -> None:
        super().__init__(labels)
        self.bits = config.bits
        self.vocabulary = CodeVocabulary({})

    @abstractmethod
    def scores(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Return the score of each bit of each span's code, ``(batch, n + 1, n + 1, bits)``."""

    def agreeing(self, trees: BitSpanTree, gold: GoldSpans, lengths: Tensor) -> SpanTree:
        """Return the distribution over unlabelled trees that contain the known spans.

        By default, all codes of a span are summed out: its score is the logsumexp of the scores of its codes.
        """
        return gold.trees(functional.softplus(trees.scores[0]).sum(-1), lengths)

    def distribution(self, words: Tensor, lengths: Tensor) -> BitSpanTree:
        return BitSpanTree(self.scores(words, lengths), lengths, validate_args=False)

    def entropies(self, words: Tensor, lengths: Tensor) -> Tensor:  # noqa: ARG002
        raise SettingError(
            "the model scores binary codes of spans, and several codes may have the same label; "
            "give one with --criterion likelihood"
        )

    def best_spans(
        self, words: Tensor, lengths: Tensor, probabilities: bool = False
    ) -> Iterator[list[PredictedSpan]]:
        trees = self.distribution(words, lengths)
        logs = trees.bit_marginals.log() if probabilities else None
        for item, event in enumerate(trees.mode):
            yield [
                PredictedSpan(
                    i,
                    j,
                    self.label(code),
                    None if logs is None else _probability(logs[item, i, j], code),
                    code,
                )
                for i, j, code in spans_of(event)
            ]

    @property
    def codes(self) -> Sequence[int]:
        return self.vocabulary.codes

    def label(self, code: int) -> str:
        """Return the label of a code; `EMPTY` before codes have been counted."""
        return self.vocabulary.label(code) if len(self.vocabulary) else EMPTY

    def shares(self, spans: Sequence[PredictedSpan]) -> dict[str, tuple[int, int]]:
        """Return numerator and denominator of `unseen_codes`, the percentage of codes not seen in training."""
        unseen = sum(span.code not in self.vocabulary for span in spans)
        return {"unseen_codes": (100 * unseen, len(spans))}

    def calibrate(self, batches: Iterable[tuple[Tensor, GoldSpans, Tensor]]) -> None:
        """Count the labels of each code in the best trees that contain the known spans (section 3.5)."""
        self.vocabulary = CodeVocabulary.count(pair for batch in batches for pair in self._pairs(*batch))

    def _pairs(self, words: Tensor, gold: GoldSpans, lengths: Tensor) -> Iterator[tuple[int, str]]:
        trees = self.distribution(words, lengths)
        spans = gold.among(self.agreeing(trees, gold, lengths).mode, self.empty)
        codes = to_codes(spans.at(trees.scores[0]) > 0)
        for code, label in zip(codes.tolist(), spans.labels.tolist(), strict=True):
            yield code, self.labels.symbols[label]


def _probability(log_marginals: Tensor, code: int) -> float:
    """Return the probability that a span is in the tree and has the code, from log-marginals ``(bits, 2)``.

    The bits are independent, given the span.
    """
    bits = len(log_marginals)
    chosen = sum(log_marginals[bit, code >> bit & 1] for bit in range(bits))
    return float(not_nan(chosen - (bits - 1) * log_marginals[0].logsumexp(-1)).exp())
