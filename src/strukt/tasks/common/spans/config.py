"""Options that the tasks with labelled spans share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from strukt.tasks.common.config import TaskConfig
from strukt.tasks.common.uses import Use


@dataclass
class SpanTaskConfig(TaskConfig):
    """The options of tasks that predict labelled spans.

    Args:
        criterion: Loss. likelihood: negative log-likelihood of the tree; margin: structured hinge loss; bits:
            binary codes in place of labels, by contrastive hashing and the negative log-likelihood of the tree;
            bits-published: binary codes by a single contrastive loss, as published (Wang and Utiyama 2024).
        partial: Learn from partially annotated trees: a tree of the training corpus whose outermost bracket has
            the label `_` may have further constituents. The loss is the negative log-likelihood of the
            annotation. For criterion likelihood.
        span_size: Size of the vectors from which spans are scored, for labels rather than codes.
        label_size: Size of the vectors from which the labels of spans are scored or, for criterion bits, each bit
            of a code.
        bits: Number of bits of a code, from 1 to 62; at most 2^bits labels have different codes.
        variant: Variant of the contrastive loss; see `strukt.losses.contrastive_hashing`.
        temperature: Divisor of the similarities in the contrastive loss; 1 as published.
        tree_weight: Weight of the negative log-likelihood of the tree. Above 0, the contrastive loss compares
            probabilities of bits given their spans; at 0, it compares joint probabilities of spans and bits, and
            so learns trees as well as codes.
        code_words: Codes of labels in the likelihood of the tree. fixed: one for each label, far from the
            others; learned: any codes, so that only the contrastive loss separates labels, and rare labels often
            share a code; sampled: as learned, but compared with codes sampled from the probabilities of their
            bits, which separates more rare labels (variants max and hash only). With tree_weight 0, fixed has
            the same effect as learned.
    """

    uses: ClassVar[tuple[Use, ...]] = (
        Use(
            ["partial"],
            "--criterion likelihood",
            lambda config: config.criterion in ("likelihood", "flat"),  # ner adds flat
        ),
        Use.by_choice(["span_size"], "criterion", "likelihood", "margin"),
        Use.by_choice(["label_size"], "criterion", "likelihood", "margin", "bits"),
        Use.by_choice(["bits", "variant"], "criterion", "bits", "bits-published"),
        Use.by_choice(["temperature", "tree_weight", "code_words"], "criterion", "bits"),
    )

    criterion: Literal["likelihood", "margin", "bits", "bits-published"] = "likelihood"
    partial: bool = False
    span_size: int = 250
    label_size: int = 100
    bits: int = 8
    variant: Literal["max", "self", "sup", "hash"] = "max"
    temperature: float = 0.025
    tree_weight: float = 0.5
    code_words: Literal["fixed", "learned", "sampled"] = "fixed"
