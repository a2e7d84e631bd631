"""Spans with codes, trained by contrastive hashing and the negative log-likelihood of the tree."""

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
from strukt.structures.bit_span_tree.codes import to_bits, to_codes
from strukt.tasks.common.spans.code_spans import CodeSpans
from strukt.tasks.common.spans.config import SpanTaskConfig
from strukt.tasks.common.spans.layer import GoldSpans


class LikelihoodCodes(CodeSpans):
    """A span layer of binary codes, trained by contrastive hashing and the negative log-likelihood of the tree.

    It extends the published model, `PublishedCodes`, by the likelihood, fixed codes of labels, a temperature, and
    a perceptron before queries and keys. The contrastive loss compares the probabilities of bits given their
    spans, or joint probabilities of spans and bits if the likelihood has weight 0.

    Args:
        config: The configuration of the task.
        size: Size of the vectors of words.
        labels: The labels of spans in the training corpus.

    Attributes:
        code_words: ``(labels, bits)``, the bits of each label's fixed code, 0 or 1; None if codes are not fixed,
            or if the likelihood has weight 0.
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
        """Return the mean contrastive loss of a span, plus the weighted negative log-likelihood, a scalar.

        The negative log-likelihood is the mean per word, summed over both views, times `tree_weight`.

        The contrastive loss also needs the unknown spans of the trees: they are sampled from the distribution of
        the first view.
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
        """Return the distribution over trees with the known spans, in which labels have their fixed codes.

        All other spans have the code of the empty label. Without fixed codes, all codes are summed out.
        """
        if self.code_words is None:
            return super().agreeing(trees, gold, lengths)
        scores = trees.scores[0]
        known = (gold.at(scores) * self.code_words[gold.labels]).sum(-1)
        places = (gold.items, gold.starts, gold.ends)
        empty = (scores * self.code_words[self.empty]).sum(-1)
        return gold.trees(empty.index_put(places, known), lengths)

    def _marginals(self, trees: BitSpanTree, spans: GoldSpans) -> Tensor:
        """Return the probabilities that each bit of the spans is 0 and 1, ``(m, K, 2)``.

        They are conditional on the span if the likelihood trains the tree; otherwise, they are joint probabilities
        of bit and span.
        """
        if self.config.tree_weight == 0:
            return spans.at(trees.bit_marginals)
        scores = spans.at(trees.scores[0])
        return torch.stack([-scores, scores], -1).sigmoid()


def _distant_words(labels: int, bits: int) -> Tensor:
    """Return a code word of K bits for each label, ``(labels, K)``, far from the other code words.

    Greedy search: the first word is random; each next word is one of those whose distance to the nearest word
    before it is largest. Words are reused if there are more labels than words.
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
