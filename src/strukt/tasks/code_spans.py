"""Spans with binary codes in place of labels, trained by contrastive hashing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from strukt.data.binarisation import EMPTY
from strukt.data.codes import CodeVocabulary
from strukt.data.vocabulary import Vocabulary
from strukt.distributions import BitSpanTree, SpanTree
from strukt.distributions.bits import to_bits, to_codes
from strukt.losses import contrastive_hashing
from strukt.nn import AttentionHash
from strukt.nn.perceptron import perceptron
from strukt.nn.spans import fenceposts
from strukt.tasks.config import SpanTaskConfig
from strukt.tasks.span_layer import Found, GoldSpans, SpanLayer, spans_of
from strukt.viz.heat_map import HeatMap

NOTHING = "∅"
"""How the empty label is shown."""

MOST_SHOWN = 24
"""Of how many labels the distances are shown: with chains of labels there are often a hundred, most rare."""


class CodeSpans(SpanLayer):
    """An attention head for each bit, a distribution over trees with codes, and what each code means.

    Source: Wang et al. (2024), "To be continuous, or to be discrete, those are bits of questions".

    Args:
        config: The configuration of the task.
        size: Size of the vectors of words.
        labels: The labels.

    Attributes:
        vocabulary: What the codes mean.
        code_words: The bits that each label should have, ``(labels, K)`` of 0 and 1; None if they are learned.
    """

    views: ClassVar[int] = 2
    code_words: Tensor | None

    def __init__(self, config: SpanTaskConfig, size: int, labels: Vocabulary) -> None:
        super().__init__(labels)
        self.bits = config.bits
        self.config = config
        width = config.bits * config.label_size
        self.perceptron = perceptron(size, width, config.encoder.dropout)
        self.hash = AttentionHash(width, config.bits)
        self.vocabulary = CodeVocabulary({})
        given = config.code_words == "fixed" and config.tree_weight > 0
        self.register_buffer("code_words", _distant_words(len(labels), config.bits) if given else None)

    def scores(self, words: Tensor, lengths: Tensor) -> Tensor:  # noqa: ARG002
        """Of the bits of spans, ``(batch, n + 1, n + 1, bits)``."""
        scores: Tensor = self.hash(self.perceptron(fenceposts(words)))
        return scores.float()

    def distribution(self, words: Tensor, lengths: Tensor) -> BitSpanTree:
        return BitSpanTree(self.scores(words, lengths), lengths, validate_args=False)

    def loss(self, views: Sequence[Tensor], gold: GoldSpans, lengths: Tensor) -> Tensor:
        """The contrastive loss of the spans of a tree, averaged over them, and the likelihood of the tree.

        What is not known of the tree is sampled from the distribution of the first view.
        """
        config = self.config
        trees = [self.distribution(words, lengths) for words in views]
        agreeing = [self._agreeing(view, gold, lengths) for view in trees]
        spans = gold.among(agreeing[0].sample(), self.empty)
        first, second = (self._marginals(view, spans) for view in trees)
        codes = (_sample(first), _sample(second)) if config.code_words == "sampled" else None
        loss = contrastive_hashing(first, second, spans.labels, config.variant, config.temperature, codes)
        if config.tree_weight == 0:
            return loss
        missed = [view.log_partition - part.log_partition for view, part in zip(trees, agreeing, strict=True)]
        return loss + config.tree_weight * torch.stack(missed).sum() / lengths.sum()

    def _agreeing(self, trees: BitSpanTree, gold: GoldSpans, lengths: Tensor) -> SpanTree:
        """The trees that contain the known spans: with any codes, or with the words of their labels.

        Spans that are not known then have the word of the empty label.
        """
        scores = trees.scores[0]
        if self.code_words is None:
            return gold.trees(functional.softplus(scores).sum(-1), lengths)
        known = (gold.at(scores) * self.code_words[gold.labels]).sum(-1)
        places = (gold.items, gold.starts, gold.ends)
        empty = (scores * self.code_words[self.empty]).sum(-1)
        return gold.trees(empty.index_put(places, known), lengths)

    def _marginals(self, trees: BitSpanTree, spans: GoldSpans) -> Tensor:
        """The probabilities of -1 and +1 of each bit of spans, ``(m, K, 2)``.

        Given that they are spans, where the likelihood teaches that; joint ones with the tree otherwise.
        """
        if self.config.tree_weight == 0:
            return spans.at(trees.bit_marginals)
        scores = spans.at(trees.scores[0])
        return torch.stack([-scores, scores], -1).sigmoid()

    def found(self, words: Tensor, lengths: Tensor, probabilities: bool = False) -> Iterator[list[Found]]:
        trees = self.distribution(words, lengths)
        logs = trees.bit_marginals.log() if probabilities else None
        for item, event in enumerate(trees.mode):
            yield [
                Found(
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
        """What a code means; nothing before anything was counted."""
        return self.vocabulary.label(code) if len(self.vocabulary) else EMPTY

    def distances(self) -> HeatMap:
        """In how many bits the codes of labels differ on average: of the most frequent labels, in that order."""
        labels = self.vocabulary.labels[:MOST_SHOWN]
        names = [label or NOTHING for label in labels]
        values = [[self.vocabulary.distance(row, column) for column in labels] for row in labels]
        return HeatMap("mean Hamming distance between the codes of labels", names, names, values)

    def shares(self, spans: Sequence[Found]) -> dict[str, tuple[int, int]]:
        """How many percent of the codes were never seen in training."""
        unseen = sum(span.code not in self.vocabulary for span in spans)
        return {"unseen_codes": (100 * unseen, len(spans))}

    def calibrate(self, batches: Iterable[tuple[Tensor, GoldSpans, Tensor]]) -> None:
        """Counts which codes stand for which labels (section 3.5); what is not known of a tree is as is best."""
        self.vocabulary = CodeVocabulary.count(pair for batch in batches for pair in self._pairs(*batch))

    def _pairs(self, words: Tensor, gold: GoldSpans, lengths: Tensor) -> Iterator[tuple[int, str]]:
        trees = self.distribution(words, lengths)
        spans = gold.among(self._agreeing(trees, gold, lengths).mode, self.empty)
        codes = to_codes(spans.at(trees.scores[0]) > 0)
        for code, label in zip(codes.tolist(), spans.labels.tolist(), strict=True):
            yield code, self.labels.symbols[label]

    def get_extra_state(self) -> Tensor:
        """Code, number of the label, and count, of each pair that was counted: ``(m, 3)``."""
        rows = [
            (code, self.labels.index(label), count)
            for code, counts in self.vocabulary.counts.items()
            for label, count in counts.items()
        ]
        return torch.tensor(rows, dtype=torch.long).reshape(-1, 3)

    def set_extra_state(self, state: Tensor) -> None:
        """Takes over what `get_extra_state` gave."""
        counts: dict[int, dict[str, int]] = {}
        for code, label, count in state.tolist():
            counts.setdefault(code, {})[self.labels.symbols[label]] = count
        self.vocabulary = CodeVocabulary(counts)


def _distant_words(labels: int, bits: int) -> Tensor:
    """A word of K bits for each label, ``(labels, K)``, far from those of the others.

    Each differs from those before it in as many bits as it can; which word is the first is drawn. With more labels
    than words, words are used again.
    """
    chosen = min(bits, (labels - 1).bit_length() + 8)
    numbers = torch.arange(2**chosen)
    candidates = to_bits(numbers, chosen)
    taken, nearest = [0], candidates.sum(-1)
    while len(taken) < min(labels, len(numbers)):
        taken.append(int(nearest.argmax()))
        nearest = torch.minimum(nearest, (candidates != candidates[taken[-1]]).sum(-1))
    first = torch.randint(2**chosen, ())
    words = to_bits(numbers[taken] ^ first, chosen)[torch.arange(labels) % len(taken)].float()
    return torch.cat([words, torch.randint(2, (labels, bits - chosen)).float()], -1)


def _probability(log_marginals: Tensor, code: int) -> float:
    """Of a span with a code, from the log-marginals ``(bits, 2)``: the bits of a span are independent."""
    bits = len(log_marginals)
    chosen = sum(log_marginals[bit, code >> bit & 1] for bit in range(bits))
    return float((chosen - (bits - 1) * log_marginals[0].logsumexp(-1)).exp())


def _sample(marginals: Tensor) -> Tensor:
    """A code for each span, ``(m,)``, from the probabilities ``(m, K, 2)`` of its bits as those of a span."""
    marginals = marginals.detach()
    tiny = torch.finfo(marginals.dtype).tiny
    return to_codes(torch.bernoulli(marginals[..., 1] / marginals.sum(-1).clamp_min(tiny)))
