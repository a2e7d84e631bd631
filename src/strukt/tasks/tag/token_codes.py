"""Binary codes of words, trained by contrastive hashing together with the tags."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor
from torch.nn import functional

from strukt.data.vocabulary import Vocabulary
from strukt.data.vocabulary.codes import CodeVocabulary
from strukt.losses import contrastive_hashing
from strukt.nn.word_hash_layer import HashLayer
from strukt.structures.bit_span_tree.distribution import to_codes
from strukt.tasks.common.code_counts import CountedCodes
from strukt.tasks.tag.config import Config


class TokenCodes(CountedCodes):
    """An attention layer whose heads are bits of codes, its contrastive loss, and a tag for each code.

    Source: Wang et al. (2023), as described in section 2.2 of Wang and Utiyama (2024).

    Args:
        config: The configuration of the task.
        size: Size of the vectors of words.
        labels: The tags.

    Attributes:
        vocabulary: The tags of the codes.
    """

    def __init__(self, config: Config, size: int, labels: Vocabulary) -> None:
        super().__init__()
        self.labels, self.variant = labels, config.variant
        self.layer = HashLayer(size, config.bits, config.encoder.outer_dropout)
        self.vocabulary = CodeVocabulary({})

    def forward(self, words: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Return vectors for the tags, ``(batch, n, size)``, and scores of bits, ``(batch, n, bits)``."""
        vectors, bits = self.layer(words, lengths)
        return vectors, bits.to(torch.promote_types(bits.dtype, torch.float32))

    def loss(self, first: Tensor, second: Tensor, alike: Tensor) -> Tensor:
        """Return the contrastive loss of words in two views, `code_loss`."""
        return code_loss(first, second, alike, self.variant)

    def codes(self, bits: Tensor) -> Tensor:
        """Return codes ``(...)`` of scores ``(..., bits)``: a bit is set if its score is positive."""
        return to_codes(bits > 0)

    def count(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Set the tags of codes from pairs of a code and a tag number."""
        self.vocabulary = CodeVocabulary.count((code, self.labels.symbols[tag]) for code, tag in pairs)

    def shares(self, codes: list[int], tags: list[str]) -> dict[str, tuple[int, int]]:
        """Return terms of the percentages of codes that agree with the predicted tag, and of unseen codes."""
        seen = [(code, tag) for code, tag in zip(codes, tags, strict=True) if code in self.vocabulary]
        agreeing = sum(self.vocabulary.label(code) == tag for code, tag in seen)
        unseen = len(codes) - len(seen)
        return {"code_agreement": (100 * agreeing, len(codes)), "unseen_codes": (100 * unseen, len(codes))}


def code_loss(first: Tensor, second: Tensor, alike: Tensor, variant: str) -> Tensor:
    """Return the contrastive loss of words in two views, with cosines of scores and codes as similarities.

    Args:
        first: Scores of bits ``(m, bits)``.
        second: Scores of the same words in the other view.
        alike: Labels ``(m,)``; words with equal ones count as alike.
        variant: Variant of `contrastive_hashing`.
    """
    return contrastive_hashing(_sides(first), _sides(second), alike, variant, temperature=1.0)


def _sides(bits: Tensor) -> Tensor:
    """Return scores of both values of each bit, ``(m, bits, 2)``; their mean over a code is the cosine with it."""
    unit = functional.normalize(bits, dim=-1) * bits.shape[-1] ** 0.5
    return torch.stack([-unit, unit], -1)
