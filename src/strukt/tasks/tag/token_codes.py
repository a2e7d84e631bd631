"""Binary codes of words, trained by contrastive hashing together with the tags."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor
from torch.nn import functional

from strukt.data.vocabulary import Vocabulary
from strukt.data.vocabulary.codes import CodeVocabulary
from strukt.losses import contrastive_hashing
from strukt.nn.inputs import precise
from strukt.nn.word_hash_layer import HashLayer
from strukt.structures.bit_span_tree.codes import to_codes
from strukt.tasks.common.batch import Batch
from strukt.tasks.common.code_counts import CountedCodes
from strukt.tasks.tag.config import Config


class TokenCodes(CountedCodes):
    """An attention layer with a head for each bit of a code, its contrastive loss, and a tag for each code.

    Source: Wang et al. (2023), as described in section 2.2 of Wang and Utiyama (2024).

    Args:
        config: The configuration of the task.
        size: Size of the vectors of words.
        labels: The tags of the training corpus.

    Attributes:
        vocabulary: The counts of the tags of each code.
    """

    def __init__(self, config: Config, size: int, labels: Vocabulary) -> None:
        super().__init__()
        self.labels, self.variant, self.code_labels = labels, config.variant, config.code_labels
        self.layer = HashLayer(size, config.bits, config.encoder.outer_dropout)
        self.vocabulary = CodeVocabulary({})

    def forward(self, words: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Return vectors to score tags from, ``(batch, n, size)``, and scores of bits, ``(batch, n, bits)``.

        Args:
            words: ``(batch, n, size)``, the vectors of words.
            lengths: ``(batch,)``.
        """
        vectors, bits = self.layer(words, lengths)
        return vectors, precise(bits)

    def loss(self, first: Tensor, second: Tensor, batch: Batch) -> Tensor:
        """Return the mean contrastive loss of the words of a batch, a scalar.

        Words count as alike if they have the same form, or the same tag, as `Config.code_labels` says.

        Args:
            first: ``(batch, n, bits)``, scores of bits in one view: a forward pass with its own dropout.
            second: ``(batch, n, bits)``, scores of the same bits in another view.
            batch: The batch; every word has a tag, and padding is ignored.
        """
        tags = batch.targets["tags"]
        inside = tags >= 0
        alike = _forms(batch).to(tags.device) if self.code_labels == "words" else tags[inside]
        return code_loss(first[inside], second[inside], alike, self.variant)

    def codes(self, bits: Tensor) -> Tensor:
        """Return the codes ``(*)`` for scores of bits ``(*, bits)``: a bit is set if its score is positive."""
        return to_codes(bits > 0)

    def count(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Replace the counts of the tags of each code by those in pairs of a code and a tag index."""
        self.vocabulary = CodeVocabulary.count((code, self.labels.symbols[tag]) for code, tag in pairs)

    def shares(self, codes: list[int], tags: list[str]) -> dict[str, tuple[int, int]]:
        """Return the shares of codes that stand for the predicted tag, and of codes that were not counted.

        Args:
            codes: The code of each word of a sentence.
            tags: The predicted tag of each word.

        Returns:
            For `code_agreement` and `unseen_codes`, 100 times the number of these words, and that of all words.
        """
        seen = [(code, tag) for code, tag in zip(codes, tags, strict=True) if code in self.vocabulary]
        agreeing = sum(self.vocabulary.label(code) == tag for code, tag in seen)
        unseen = len(codes) - len(seen)
        return {"code_agreement": (100 * agreeing, len(codes)), "unseen_codes": (100 * unseen, len(codes))}


def code_loss(first: Tensor, second: Tensor, alike: Tensor, variant: str) -> Tensor:
    """Return the contrastive loss of words in two views, with cosines of scores and codes as similarities.

    Args:
        first: Scores of bits in one view, ``(m, bits)``.
        second: Scores of bits of the same words in the other view, ``(m, bits)``.
        alike: Labels ``(m,)``; words with equal labels count as alike.
        variant: Variant of the loss; see `contrastive_hashing`.
    """
    return contrastive_hashing(_sides(first), _sides(second), alike, variant, temperature=1.0)


def _forms(batch: Batch) -> Tensor:
    """Number the forms in a batch, and return the number of each word, sentence by sentence, ``(m,)``."""
    numbers: dict[str, int] = {}
    forms = (form for sentence in batch.sentences for form in sentence.forms)
    return torch.tensor([numbers.setdefault(form, len(numbers)) for form in forms])


def _sides(bits: Tensor) -> Tensor:
    """Return scores of both values of each bit, ``(m, bits, 2)``; the mean over a code's bits is the cosine."""
    unit = functional.normalize(bits, dim=-1) * bits.shape[-1] ** 0.5
    return torch.stack([-unit, unit], -1)
