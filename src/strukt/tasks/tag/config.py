"""The configuration of tagging."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from strukt.data import corpus
from strukt.errors import SettingError
from strukt.tasks.common.config import TaskConfig
from strukt.tasks.common.uses import Use


@dataclass
class Config(TaskConfig):
    """Options of the tagging task.

    Args:
        column: CoNLL-U column to predict; in two-column files it is always the second.
        criterion: Loss. cross-entropy: each tag on its own; crf: all tags of a sentence jointly, by a
            linear-chain CRF; bits: cross-entropy and contrastive hashing of binary codes of words, in an
            attention layer with a head for each bit.
        average: Mean of the loss. words: over all words of a batch; sentences: over its sentences, after the
            mean over the words of each sentence, as published for the Probabilistic Transformer.
        partial: Learn from partially annotated sentences: a word of the training corpus with `_` in the column
            may have any tag. The loss is the negative log-likelihood of the annotated tags. Only for the
            criteria crf and cross-entropy.
        constraints: Tagging scheme of spans to enforce, or none, for criterion crf: bio (also called IOB2),
            iob1, bioes (IOBES), bilou or bmes.
        bits: Number of bits of the code of a word, from 1 to 62.
        variant: Variant of the contrastive loss; see `strukt.losses.contrastive_hashing`.
        code_weight: Weight of the contrastive loss, relative to the loss of the tags.
        code_labels: Words that count as alike in the contrastive loss: words with the same form, or with the
            same tag.
    """

    summary = "a label for each word: parts of speech, named entities, slots"
    readers = corpus.WORDS
    uses = (
        Use.by_choice(["partial"], "criterion", "crf", "cross-entropy"),
        Use.by_choice(["bits", "variant", "code_weight", "code_labels"], "criterion", "bits"),
    )

    column: Literal["xpos", "upos"] = "xpos"
    criterion: Literal["cross-entropy", "crf", "bits"] = "cross-entropy"
    average: Literal["words", "sentences"] = "words"
    partial: bool = False
    constraints: Literal["none", "bio", "iob1", "bioes", "bilou", "bmes"] = "none"
    bits: int = 24
    variant: Literal["max", "self", "sup", "hash"] = "hash"
    code_weight: float = 1.0
    code_labels: Literal["words", "tags"] = "words"

    def require_fitting(self) -> None:
        super().require_fitting()
        if self.constraints != "none" and self.criterion != "crf":
            raise SettingError("--constraints needs --criterion crf; the others choose each tag on its own")
