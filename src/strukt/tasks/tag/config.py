"""The configuration of tagging."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from strukt.data import corpus
from strukt.tasks.common.config import TaskConfig
from strukt.tasks.common.uses import Use


@dataclass
class Config(TaskConfig):
    """Options of the tagging task.

    Args:
        column: The column of CoNLL-U to predict; in two-column files it is always the second.
        criterion: Each tag for itself; all tags of a sentence together by a conditional random field; or each for
            itself, from a layer whose heads are the bits of codes of words, by contrastive hashing.
        average: Whether the loss is a mean over the words of a batch, or over its sentences of the means of each,
            as published for the Probabilistic Transformer.
        partial: Whether words of the training corpus with `_` in the column are not annotated and may have any
            tag; the loss is the likelihood of the other tags. For criteria crf and cross-entropy.
        constraints: Tag sequences to forbid: none, or those that break a scheme of spans. BIO (also called IOB2),
            IOB1, BIOES (IOBES), BILOU and BMES are known.
        bits: Length of the codes.
        variant: Which words the contrastive loss compares with.
        code_weight: Weight of the contrastive loss beside that of the tags.
        code_labels: Which words are alike for this loss: those with the same form, or those with the same tag.
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
