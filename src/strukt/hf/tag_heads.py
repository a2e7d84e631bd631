"""Heads that tag each word: a conditional random field (CRF), and a head with binary codes of words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn

from strukt.distributions import LinearChain
from strukt.hf.configuration import StructuredHeadConfig
from strukt.hf.heads import Head, HeadOutput, negative_log_likelihood
from strukt.hf.words import IGNORED, WordPlaces
from strukt.nn import CRF, HashLayer, tag_constraints
from strukt.structures.bit_span_tree.codes import to_codes
from strukt.tasks.tag.token_codes import code_loss


class CRFHead(Head):
    """A linear-chain conditional random field (CRF) over the words.

    The `logits`, `(batch, pieces, labels)`, are max-marginals: at the first piece of each word, the
    log-probability of the best sequence with this tag at this word; 0 at other pieces. Code of transformers that
    takes their argmax therefore gets the Viterbi sequence. Labels and predictions are `(batch, pieces)`, -100 at
    other pieces.

    Args:
        config: The configuration of the model.
        size: Size of the word vectors.
    """

    def __init__(self, config: StructuredHeadConfig, size: int) -> None:
        super().__init__()
        self.dropout = nn.Dropout(config.dropout)
        self.score = nn.Linear(size, config.num_labels)
        self.crf = _crf(config)

    def constrain(self, config: StructuredHeadConfig) -> None:
        """Replace the constraints by those of a configuration with as many labels."""
        for name, allowed in _crf(config).named_buffers():
            self.crf.get_buffer(name).copy_(allowed)

    def distribution(self, vectors: Tensor, lengths: Tensor) -> LinearChain:
        chain: LinearChain = self.crf(self.score(self.dropout(vectors)), lengths)
        return chain

    def loss(self, views: Sequence[Tensor], places: WordPlaces, labels: Tensor) -> Tensor:
        tags = places.gather(labels, IGNORED)
        known = tags >= 0
        chain = self.distribution(views[0], places.lengths)
        return negative_log_likelihood(chain, tags, known).sum() / known.sum().clamp(min=1)

    def predict(self, vectors: Tensor, places: WordPlaces) -> HeadOutput:
        chain = self.distribution(vectors, places.lengths)
        logits = chain.max_marginals - chain.log_partition[:, None, None]
        logits = logits.masked_fill(~places.inside.unsqueeze(-1), 0)
        tags = chain.mode.masked_fill(~places.inside, IGNORED)
        return HeadOutput(places.scatter(logits, 0), places.scatter(tags, IGNORED))


def _crf(config: StructuredHeadConfig) -> CRF:
    """Return a new layer with the constraints of a configuration."""
    rules = None if config.constraints is None else tag_constraints(config.labels, config.constraints)
    return CRF(config.num_labels, rules)


class BitsHead(CRFHead):
    """A head that tags each word independently, by an attention layer with one attention head for each code bit.

    Transition scores stay 0, but constraints may still forbid sequences. The loss is that of `CRFHead` plus
    `config.code_weight` times a contrastive loss, which brings together the codes of words with the same tag.

    Source: Wang et al. (2023), as described in section 2.2 of Wang and Utiyama (2024).

    Args:
        config: The configuration of the model.
        size: Size of the word vectors.
    """

    views: ClassVar[int] = 2

    def __init__(self, config: StructuredHeadConfig, size: int) -> None:
        super().__init__(config, size)
        self.crf.requires_grad_(False)
        self.layer = HashLayer(size, config.bits, config.dropout)
        self.variant, self.code_weight = config.variant, config.code_weight

    def distribution(self, vectors: Tensor, lengths: Tensor) -> LinearChain:
        return super().distribution(self.layer(vectors, lengths)[0], lengths)

    def loss(self, views: Sequence[Tensor], places: WordPlaces, labels: Tensor) -> Tensor:
        tags = places.gather(labels, IGNORED)
        known = tags >= 0
        first, second = (self._bits(view, places)[known] for view in views)
        codes = code_loss(first, second, tags[known], self.variant)
        return super().loss(views, places, labels) + self.code_weight * codes

    def predict(self, vectors: Tensor, places: WordPlaces) -> HeadOutput:
        codes = to_codes(self._bits(vectors, places) > 0)
        return super().predict(vectors, places)._replace(codes=places.scatter(codes, IGNORED))

    def _bits(self, vectors: Tensor, places: WordPlaces) -> Tensor:
        """Return the scores of the bits of each word's code, `(batch, n, bits)`; positive for a bit of 1."""
        bits: Tensor = self.layer(vectors, places.lengths)[1]
        return bits.to(torch.promote_types(bits.dtype, torch.float32))
