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
        criterion: The likelihood of trees with a score for each label; the same scores with a margin; binary
            codes in place of labels, by contrastive hashing and the likelihood of the tree; or such codes as
            published (Wang et al. 2024), by one contrastive loss.
        span_size: Size of the vectors that are compared to score a span, where it has no code.
        label_size: Size of the vectors that are compared to label it, or, with criterion bits, to score a bit of
            its code.
        bits: Length of the codes, of which 2^bits at most tell labels apart.
        variant: Which spans the contrastive loss compares with.
        temperature: What similarities are divided by; 1 as published.
        tree_weight: Weight of the likelihood of the tree, beside which the contrastive loss only compares the
            codes of given spans; 0 for that loss alone, which teaches both.
        code_words: What this likelihood knows of codes: a fixed one for each label, far from the others, or
            nothing, so that the contrastive loss alone finds them; rare labels then often share the code of
            another one. Sampled ones are learned too, by comparison with codes drawn from the probabilities of
            their bits, not with the best ones, which tells such labels apart more often; variants self and sup
            learn nothing from them. Without that likelihood no code is fixed.
    """

    uses: ClassVar[tuple[Use, ...]] = (
        Use.by_choice(["span_size"], "criterion", "likelihood", "margin"),
        Use.by_choice(["label_size"], "criterion", "likelihood", "margin", "bits"),
        Use.by_choice(["bits", "variant"], "criterion", "bits", "bits-published"),
        Use.by_choice(["temperature", "tree_weight", "code_words"], "criterion", "bits"),
    )

    criterion: Literal["likelihood", "margin", "bits", "bits-published"] = "likelihood"
    span_size: int = 250
    label_size: int = 100
    bits: int = 8
    variant: Literal["max", "self", "sup", "hash"] = "max"
    temperature: float = 0.025
    tree_weight: float = 0.5
    code_words: Literal["fixed", "learned", "sampled"] = "fixed"
