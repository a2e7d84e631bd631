"""Spans with codes, trained by contrastive hashing and the likelihood of the tree."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from strukt.data.vocabulary import Vocabulary
from strukt.distributions import BitSpanTree, SpanTree
from strukt.losses import contrastive_hashing
from strukt.nn import AttentionHash
from strukt.nn.perceptron import perceptron
from strukt.nn.spans import fenceposts
from strukt.structures.bit_span_tree.distribution import to_bits, to_codes
from strukt.tasks.common.spans.code_spans import CodeSpans, with_any_codes
from strukt.tasks.common.spans.config import SpanTaskConfig
from strukt.tasks.common.spans.layer import GoldSpans


class LikelihoodCodes(CodeSpans):
    """Codes trained by contrastive hashing and the likelihood of the tree.

    Unlike the published model, `PublishedCodes`, it has the likelihood, fixed codes of labels, a temperature,
    similarities of bits given their span, and a layer between words and queries and keys.

    Args:
        config: The configuration of the task.
        size: Size of the vectors of words.
        labels: The labels.

    Attributes:
        code_words: The code of each label, ``(labels, K)`` of 0 and 1; None if codes are learned.
    """

    code_words: Tensor | None

    def __init__(self, config: SpanTaskConfig, size: int, labels: Vocabulary) -> None:
        super().__init__(config, labels)
        self.config = config
        width = config.bits * config.label_size
        self.perceptron = perceptron(size, width, config.encoder.outer_dropout)
        self.hash = AttentionHash(width, config.bits)
        is_fixed = config.code_words == "fixed" and config.tree_weight > 0
        self.register_buffer("code_words", _distant_words(len(labels), config.bits) if is_fixed else None)

    def scores(self, words: Tensor, lengths: Tensor) -> Tensor:  # noqa: ARG002
        scores: Tensor = self.hash(self.perceptron(fenceposts(words)))
        return scores.float()

    def loss(self, views: Sequence[Tensor], gold: GoldSpans, lengths: Tensor) -> Tensor:
        """Return the mean contrastive loss of spans, plus the weighted negative log-likelihood of the tree.

        Unknown spans are sampled from the distribution of the first view.
        """
        config = self.config
        trees = [self.distribution(words, lengths) for words in views]
        agreeing = [self.agreeing(view, gold, lengths) for view in trees]
        spans = gold.among(agreeing[0].sample(), self.empty)
        first, second = (self._marginals(view, spans) for view in trees)
        codes = (_sample(first), _sample(second)) if config.code_words == "sampled" else None
        loss = contrastive_hashing(first, second, spans.labels, config.variant, config.temperature, codes)
        if config.tree_weight == 0:
            return loss
        missed = [view.log_partition - part.log_partition for view, part in zip(trees, agreeing, strict=True)]
        return loss + config.tree_weight * torch.stack(missed).sum() / lengths.sum()

    def agreeing(self, trees: BitSpanTree, gold: GoldSpans, lengths: Tensor) -> SpanTree:
        """Return the distribution over trees with the known spans, with any codes or with those of their labels.

        In the second case, all other spans have the code of the empty label.
        """
        if self.code_words is None:
            return with_any_codes(trees, gold, lengths)
        scores = trees.scores[0]
        known = (gold.at(scores) * self.code_words[gold.labels]).sum(-1)
        places = (gold.items, gold.starts, gold.ends)
        empty = (scores * self.code_words[self.empty]).sum(-1)
        return gold.trees(empty.index_put(places, known), lengths)

    def _marginals(self, trees: BitSpanTree, spans: GoldSpans) -> Tensor:
        """Return the probabilities of the values -1 and +1 of each bit of spans, ``(m, K, 2)``.

        They are conditional on the span if the likelihood trains the tree, otherwise joint with it.
        """
        if self.config.tree_weight == 0:
            return spans.at(trees.bit_marginals)
        scores = spans.at(trees.scores[0])
        return torch.stack([-scores, scores], -1).sigmoid()


def _distant_words(labels: int, bits: int) -> Tensor:
    """Return a code word of K bits for each label, ``(labels, K)``, far from the others.

    The first word is random; each of the next ones has the largest possible distance to all words before it. Words
    are reused if there are more labels than words.
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


def _sample(marginals: Tensor) -> Tensor:
    """Sample a code for each span, ``(m,)``, from the probabilities ``(m, K, 2)`` of its bits."""
    marginals = marginals.detach()
    tiny = torch.finfo(marginals.dtype).tiny
    return to_codes(torch.bernoulli(marginals[..., 1] / marginals.sum(-1).clamp_min(tiny)))
