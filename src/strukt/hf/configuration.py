"""The configuration of a head on an encoder."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, ClassVar

from transformers import AutoConfig, PretrainedConfig

from strukt.nn.inputs import require_sizes
from strukt.structures.bit_span_tree.codes import MOST_BITS

CHOICES = {
    "head": ("crf", "biaffine", "span", "bits"),
    "trees": ("nonprojective", "projective"),
    "variant": ("hash", "self", "sup", "max"),
}
"""The permitted values of options whose values are names."""

TAG_HEADS = ("crf", "bits")
"""The heads that predict a tag for each word."""


class StructuredHeadConfig(PretrainedConfig):  # type: ignore[misc]
    """The encoder, the head and the labels of a `StructuredHead`; saved as `config.json`.

    Args:
        encoder: The configuration of the encoder, or the dictionary of a configuration with its `model_type`; if
            None, the default configuration of BERT.
        head: `crf` (tags), `biaffine` (dependency trees), `span` (nested spans: constituents, entities) or `bits`
            (tags beside binary codes of words).
        constraints: A tagging scheme, such as `BIO` (see `strukt.nn.tag_constraints`), whose rules predictions
            never break; None for no rules. For `crf` and `bits`.
        dropout: Dropout of the vectors of words and of the vectors that the head computes from them; below 1.
        arc_size: Size of the vectors that are compared to score an arc, for `biaffine`.
        span_size: Size of the vectors that are compared to score a span, for `span`.
        label_size: Size of the vectors that are compared to label arcs and spans.
        trees: `nonprojective` or `projective`, for `biaffine`.
        bits: Length of the codes, from 1 to 62, for `bits`.
        variant: The variant of the loss of codes, for `bits`; see `strukt.losses.contrastive_hashing`.
        code_weight: Weight of the loss of codes, for `bits`.
        options: Options of `PretrainedConfig`, such as `id2label`, `label2id` and `num_labels` (2 by default).

    Raises:
        ValueError: If an option has an invalid value, or `encoder` is a dictionary without a `model_type`.

    Examples:
        >>> config = StructuredHeadConfig({"model_type": "bert", "hidden_size": 48}, head="crf", num_labels=3)
        >>> config.encoder.hidden_size, config.num_labels
        (48, 3)
    """

    model_type = "strukt"
    sub_configs: ClassVar[dict[str, Any]] = {"encoder": AutoConfig}
    # `Trainer` concatenates all outputs but these; scores of trees differ in two axes between batches.
    keys_to_ignore_at_inference: ClassVar[list[str]] = ["logits", "codes"]

    def __init__(
        self,
        encoder: PretrainedConfig | dict[str, Any] | None = None,
        head: str = "crf",
        constraints: str | None = None,
        dropout: float = 0.1,
        arc_size: int = 500,
        span_size: int = 250,
        label_size: int = 100,
        trees: str = "nonprojective",
        bits: int = 24,
        variant: str = "hash",
        code_weight: float = 1.0,
        **options: Any,
    ) -> None:
        self.encoder = _as_config(encoder)
        self.head, self.trees, self.variant = head, trees, variant
        self.constraints = constraints
        self.dropout = dropout
        self.arc_size, self.span_size, self.label_size, self.bits = arc_size, span_size, label_size, bits
        self.code_weight = code_weight
        self._require_possible()
        super().__init__(**options)

    @classmethod
    def from_dict(cls, config_dict: dict[str, Any], **options: Any) -> Any:
        """Return the configuration of a saved dictionary, as in transformers.

        Args:
            config_dict: The content of `config.json`.
            options: Options that replace those of the dictionary.

        Raises:
            ValueError: If the dictionary is that of another kind of model, such as an encoder without a head.
        """
        kind = config_dict.get("model_type", cls.model_type)
        if kind != cls.model_type:
            raise ValueError(
                f"the saved model is of the type {kind!r}; expected a saved StructuredHead: to put a new head on "
                "an encoder, use StructuredHead.from_encoder(encoder, labels)"
            )
        return super().from_dict(config_dict, **options)

    @classmethod
    def require_options(cls, names: Iterable[str]) -> None:
        """Check names of options, because `PretrainedConfig` accepts, and ignores, any name.

        Raises:
            ValueError: If a name is unknown; the message names the nearest known one.
        """
        options = [name for name in inspect.signature(cls.__init__).parameters if name not in ("self", "options")]
        known = {*options, *vars(PretrainedConfig()), *dir(PretrainedConfig)}
        for name in names:
            if name not in known:
                near = get_close_matches(name, options, n=1)
                hint = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(options)}"
                raise ValueError(f"{name} is not an option of a StructuredHead; {hint}")

    @property
    def labels(self) -> list[str]:
        """The names of the labels, in the order of their indices."""
        return [self.id2label[index] for index in range(len(self.id2label))]

    def get_text_config(self, *_: Any, **__: Any) -> PretrainedConfig:
        """Return the configuration of the encoder; transformers reads sizes from it, and updates it."""
        return self.encoder

    def _require_possible(self) -> None:
        """Raise ValueError if an option has an invalid value, or does not fit the head."""
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} is {getattr(self, name)!r}; expected one of {', '.join(choices)}")
        if self.constraints is not None and self.head not in TAG_HEADS:
            raise ValueError(
                f"constraints is {self.constraints!r}; expected None with the head {self.head!r}, "
                "which has no tags"
            )
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout is {self.dropout}; expected a probability in [0, 1)")
        if not 0 <= self.code_weight < math.inf:
            raise ValueError(f"code_weight is {self.code_weight}; expected a finite number of 0 or more")
        require_sizes(
            arc_size=self.arc_size, span_size=self.span_size, label_size=self.label_size, bits=self.bits
        )
        if self.bits > MOST_BITS:
            raise ValueError(f"bits is {self.bits}; expected at most {MOST_BITS}")


def distinct_names(labels: Any) -> list[str]:
    """Return the names of labels as a list.

    Raises:
        ValueError: If `labels` is not a list of one or more strings that are all different.
    """
    if isinstance(labels, (str, Mapping)):
        raise ValueError(f"labels is {labels!r}; expected a list of names, in the order of their indices")
    names = list(labels)
    if not all(isinstance(name, str) for name in names):
        raise ValueError(f"labels is {names}; expected names, which are strings")
    if not names or len(set(names)) < len(names):
        raise ValueError(f"labels is {names}; expected at least one name, and none of them twice")
    return names


def _as_config(encoder: PretrainedConfig | dict[str, Any] | None) -> PretrainedConfig:
    """Return the encoder's configuration; for None that of BERT, because transformers requires a default."""
    if isinstance(encoder, PretrainedConfig):
        return encoder
    options = {"model_type": "bert"} if encoder is None else dict(encoder)
    if "model_type" not in options:
        raise ValueError("encoder has no model_type; expected the configuration of an AutoModel")
    return AutoConfig.for_model(options.pop("model_type"), **options)
