"""Binary codes of words, by contrastive hashing beside the tags."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch.nn import functional

from strukt.data.vocabulary import Vocabulary
from strukt.data.vocabulary.codes import CodeVocabulary
from strukt.losses import contrastive_hashing
from strukt.nn.hash_layer import HashLayer
from strukt.structures.bit_span_tree.distribution import to_codes
from strukt.tasks.common import code_counts
from strukt.tasks.tag.config import Config


class TokenCodes(nn.Module):
    """A layer whose heads are bits, the loss of these, and the tag that each code means.

    Source: Wang et al. (2023), as section 2.2 of Wang and Utiyama (2024) has it.

    Args:
        config: The configuration of the task.
        size: Size of the vectors of words.
        labels: The tags.

    Attributes:
        vocabulary: The tags that codes mean.
    """

    def __init__(self, config: Config, size: int, labels: Vocabulary) -> None:
        super().__init__()
        self.labels, self.variant = labels, config.variant
        self.layer = HashLayer(size, config.bits, config.encoder.outer_dropout)
        self.vocabulary = CodeVocabulary({})

    def forward(self, words: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Vectors that tags are told from, ``(batch, n, size)``, and scores of bits, ``(batch, n, bits)``."""
        vectors, bits = self.layer(words, lengths)
        return vectors, bits.to(torch.promote_types(bits.dtype, torch.float32))

    def loss(self, first: Tensor, second: Tensor, alike: Tensor) -> Tensor:
        """The contrastive loss of words in two views: `code_loss`."""
        return code_loss(first, second, alike, self.variant)

    def codes(self, bits: Tensor) -> Tensor:
        """The codes ``(...)`` of scores ``(..., bits)``: their signs, that of 0 being -1."""
        return to_codes(bits > 0)

    def count(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Take what codes mean from pairs of a code and the number of a tag."""
        self.vocabulary = CodeVocabulary.count((code, self.labels.symbols[tag]) for code, tag in pairs)

    def shares(self, codes: list[int], tags: list[str]) -> dict[str, tuple[int, int]]:
        """The shares of words whose code means their predicted tag, and whose code was never seen in training."""
        seen = [(code, tag) for code, tag in zip(codes, tags, strict=True) if code in self.vocabulary]
        agreeing = sum(self.vocabulary.label(code) == tag for code, tag in seen)
        unseen = len(codes) - len(seen)
        return {"code_agreement": (100 * agreeing, len(codes)), "unseen_codes": (100 * unseen, len(codes))}

    def get_extra_state(self) -> Tensor:
        """The labels that codes stand for."""
        return code_counts.to_tensor(self.vocabulary, self.labels)

    def set_extra_state(self, state: Tensor) -> None:
        """Take over what `get_extra_state` gave."""
        self.vocabulary = code_counts.from_tensor(state, self.labels)


def code_loss(first: Tensor, second: Tensor, alike: Tensor, variant: str) -> Tensor:
    """Return the contrastive loss of words in two views: the cosine of scores with a code is their similarity.

    Args:
        first: Scores of bits ``(m, bits)``.
        second: Those of the same words in the other view.
        alike: Numbers ``(m,)``; words of equal ones are not to be told apart.
        variant: Which words are compared, as `contrastive_hashing` has it.
    """
    return contrastive_hashing(_sides(first), _sides(second), alike, variant, temperature=1.0)


def _sides(bits: Tensor) -> Tensor:
    """Scores of both sides of each bit, ``(m, bits, 2)``, whose mean over a code is the cosine with it."""
    unit = functional.normalize(bits, dim=-1) * bits.shape[-1] ** 0.5
    return torch.stack([-unit, unit], -1)
