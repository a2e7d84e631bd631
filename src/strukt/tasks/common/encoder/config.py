"""Options of encoders: the vectors of words that every task on sentences reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from strukt.tasks.common.options import changed


@dataclass
class MeanFieldConfig:
    """The Probabilistic Transformer of encoders of kind pt; see `strukt.nn.ProbabilisticTransformer`.

    Args:
        published: Whether this is the model of Wu and Tu (2023): label_scores is table, dropout is updates, and of
            the encoder words is twice hidden, characters is none, affixes and word_dropout are 0, normalise is
            false, and minimum_count is 1 if none but 2, the default, is given.
        label_scores: Whether those of a word are a projection of its vector, or one for each label, read from a
            table. A table takes no vectors of characters and affixes, and encoder.words is twice encoder.hidden.
        dropout: Where there is dropout: before the encoder and after it, too, or on heads and on scores of labels
            after each update alone.
        rank: Of the scores of a label and the label of its head.
        distance: Up to which each distance of two words has scores of its own; null if they do not depend on it.
        shared: Whether scores that all distances share are added to these.
        decomposition: Of these scores.
        symmetric: Whether word and head may be exchanged.
        symmetric_messages: What labels are told then: doubled, twice what heads tell dependents, as in attention
            with tied projections; or what both tell.
        tells_heads: Whether words tell their heads of their labels.
        dependency_labels: Number of labels of a dependency, on which the scores of labels and heads depend; 0 for
            none.
        features: Number of global features that words may choose.
        feature_choice: As heads beside the words, apart in each channel, or once.
        order: All heads and then all labels, or both at once.
        label_weight: By which messages to labels are divided.
        head_weight: By which messages to heads are divided; 0 for one over the number of labels.
        label_step: Share of the new distribution of labels.
        head_step: Share of the new distribution of heads.
        label_damping: Share of the old message to labels.
        head_damping: Share of the old message to heads.
        normaliser: What makes distributions of messages.
        weighted_start: Whether the first distributions of labels are of scores divided by label_weight, too.
        root_labels: Labels of a root that can be the head of every word, and that stands for the sentence where
            that is classified; 0 for no root.
        root_output: What a classifier reads of the root: the scores of its labels, as the published code does, or
            their probabilities, as the paper's text says.
        penalty: Weight in the loss of what is penalised.
        penalised: The norm of all scores of labels and heads, or the sum of their squares.
    """

    published: bool = False
    label_scores: Literal["projected", "table"] = "projected"
    dropout: Literal["everywhere", "updates"] = "everywhere"
    rank: int = 64
    distance: int | None = 3
    shared: bool = changed(False, earlier=True)
    decomposition: Literal["full", "uv", "uvw", "weighted", "biased"] = "uv"
    symmetric: bool = False
    symmetric_messages: Literal["doubled", "both"] = "doubled"
    tells_heads: bool = True
    dependency_labels: int = 0
    features: int = 0
    feature_choice: Literal["all-dep", "dep-split", "single-split"] = "single-split"
    order: Literal["asynchronous", "synchronous"] = "asynchronous"
    label_weight: float = 1.0
    head_weight: float = 0.0
    label_step: float = 1.0
    head_step: float = 1.0
    label_damping: float = 0.0
    head_damping: float = 0.0
    normaliser: Literal["softmax", "relu"] = "softmax"
    weighted_start: bool = changed(False, earlier=True)
    root_labels: int = 0
    root_output: Literal["scores", "probabilities"] = changed("scores", earlier="probabilities")
    penalty: float = 0.0
    penalised: Literal["norm", "squares"] = changed("norm", earlier="squares")


@dataclass
class TransformerConfig:
    """The Transformer of encoders of kind transformer; see `strukt.nn.Transformer`.

    Args:
        published: Whether this is the Transformer that Wu and Tu (2023) compare with, as their code has it
            (`strukt.nn.PublishedTransformer`): norm_first is false, and options of the words are as for
            pt.published.
        positions: Vectors that are added to the words, sinusoids or, if published, learned ones; or vectors of
            distances that are added to keys and values.
        reach: Longer relative distances count as this one.
        distance_values: Whether relative distances are added to values, too, or to keys alone, as in the published
            code of the Probabilistic Transformer.
        feed_forward: Size of the hidden layer of the feed-forward networks; 0 for four times that of the words.
        head_size: Size of a head; 0 for that of the words by the number of heads.
        norm_first: Whether normalisation stands before each block, or behind it.
    """

    published: bool = False
    positions: Literal["absolute", "relative"] = "absolute"
    reach: int = 8
    distance_values: bool = changed(True, earlier=False)
    feed_forward: int = 0
    head_size: int = 0
    norm_first: bool = True


@dataclass
class FineTuningConfig:
    """The fine-tuning of a pretrained model, for encoders of kind pretrained.

    Args:
        rate: The share of the learning rate that its last layer has; 0 leaves the whole model as it is.
        decay: The share of the rate of each layer that the layer below it has.
        frozen: How many of the lowest layers stay as they are, with the vectors of pieces; 0 for none of both.
        lora: Rank of adapters beside all matrices that learn in place of these (LoRA); 0 for none.
        recompute: Whether to compute what layers hold a second time for gradients, instead of keeping it.
    """

    rate: float = 0.1
    decay: float = 1.0
    frozen: int = 0
    lora: int = 0
    recompute: bool = False


@dataclass
class EncoderConfig:
    """The encoder, which makes vectors of words.

    Args:
        kind: LSTMs that read both ways or one way, gated convolutions over windows of words, which are fastest, a
            Transformer, a Probabilistic Transformer, a pretrained Hugging Face model, or none of these: each word
            for itself.
        layers: Number of layers, or of iterations of the Probabilistic Transformer.
        hidden: Half the size of the vectors that come out: that of each direction of two-way LSTMs, half that of
            convolutions or a Transformer, or half the labels.
        heads: Attention heads, or channels.
        dropout: Dropout in front of the layers, between them, and after them (but see pt.dropout, and
            transformer.published, which has it within the layers alone).
        words: Size of the word vectors.
        minimum_count: Rarer words have no vector of their own.
        normalise: Whether words that differ in case or digits alone have one vector; characters tell them apart.
        word_dropout: Probability that a word counts as unknown in training.
        characters: How the characters of a word become a vector.
        character_size: Size of that vector (for cnn a multiple of 3, for lstm even).
        affixes: Size of the vector of each prefix and suffix of one to three letters; 0 for none.
        pretrained: Folder or hub name of the model, for kind pretrained.
        fine_tuning: How it learns.
        transformer: Which Transformer, for kind transformer.
        pt: Which Probabilistic Transformer, for kind pt.
    """

    kind: Literal["bilstm", "lstm", "convolution", "transformer", "pt", "pretrained", "none"] = "bilstm"
    layers: int = 2
    hidden: int = 256
    heads: int = 8
    dropout: float = 0.33
    words: int = 100
    minimum_count: int = 2
    normalise: bool = True
    word_dropout: float = 0.1
    characters: Literal["cnn", "lstm", "none"] = "cnn"
    character_size: int = 96
    affixes: int = 24
    pretrained: str = ""
    fine_tuning: FineTuningConfig = field(default_factory=FineTuningConfig)
    transformer: TransformerConfig = field(default_factory=TransformerConfig)
    pt: MeanFieldConfig = field(default_factory=MeanFieldConfig)

    def __post_init__(self) -> None:
        """Give options that a published model sets their values; `ranges` refuses others than these."""
        for name, value in self.published_options().items():
            group, _, option = name.rpartition(".")
            part = getattr(self, group) if group else self
            if getattr(part, option) == getattr(type(part)(), option):
                setattr(part, option, value)

    @property
    def is_published(self) -> bool:
        """True if the encoder is one of those of Wu and Tu (2023)."""
        return {"pt": self.pt.published, "transformer": self.transformer.published}.get(self.kind, False)

    def published_options(self) -> dict[str, Any]:
        """Return the options that `pt.published` or `transformer.published` sets, by name; none without them."""
        if not self.is_published:
            return {}
        of_words = {"characters": "none", "affixes": 0, "normalise": False, "word_dropout": 0.0}
        of_pt: dict[str, Any] = {"label_scores": "table", "dropout": "updates", "shared": False}
        of_pt |= {"weighted_start": False, "penalised": "norm", "dependency_labels": 0}
        of_model = of_pt if self.kind == "pt" else {"norm_first": False}
        of_model = {f"{self.kind}.{name}": value for name, value in of_model.items()}
        return {"words": 2 * self.hidden, "minimum_count": 1} | of_words | of_model

    @property
    def outer_dropout(self) -> float:
        """Dropout before and after what reads the words."""
        within = self.pt.dropout == "updates" if self.kind == "pt" else self.is_published
        return 0.0 if within else self.dropout

    @property
    def has_root(self) -> bool:
        """True if a root stands for a sentence."""
        return self.kind == "pt" and self.pt.root_labels > 0
