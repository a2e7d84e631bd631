"""Options of encoders, which compute the word vectors of every task on sentences."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from strukt.errors import SettingError


@dataclass
class MeanFieldConfig:
    """The Probabilistic Transformer, for encoders of kind pt; see `strukt.nn.ProbabilisticTransformer`.

    Args:
        published: Use the model of Wu and Tu (2023). Sets label_scores to table, dropout to updates and, in
            the encoder, words to twice hidden, characters to none, affixes and word_dropout to 0, normalise to
            false, and minimum_count to 1 unless it differs from its default, 2. The options shared,
            weighted_start, penalised and dependency_labels must keep their defaults.
        label_scores: Label scores of a word. projected: linear projection of its vector; table: one learned
            score for each word and label; requires encoder.characters none, encoder.affixes 0, and
            encoder.words equal to twice encoder.hidden (published sets all three).
        dropout: Positions of dropout. everywhere: before, within and after the encoder; updates: only on heads
            and label scores, after each update.
        rank: Rank of the matrix of scores of a word's label and its head's label, for decompositions other than
            full.
        distance: Largest distance between two words that has its own scores; all longer distances share theirs.
            null for scores that do not depend on the distance.
        shared: Add scores that all distances share; only with a distance, and for decompositions full, uv and
            uvw.
        decomposition: Decomposition of the matrix of scores of a word's label and its head's label. full: none;
            uv: two factors; uvw: factors shared by channels; weighted: factors shared by distances; biased:
            factors shared by distances, and a separate score for heads only.
        symmetric: Make scores symmetric in word and head.
        symmetric_messages: Messages to labels in a symmetric model. doubled: twice the messages from heads, as in
            attention with tied projections; both: messages from heads and from dependents.
        tells_heads: Send messages from words to their heads.
        dependency_labels: Number of dependency labels, on which the scores of a word's label and its head's
            label depend; 0 for none.
        features: Number of global features, which words may choose in addition to heads; 0 for none.
        feature_choice: Choice of a global feature by a word. all-dep: among the heads; dep-split: one feature
            in each channel; single-split: one feature for all channels.
        order: Order of updates. asynchronous: all heads, then all labels; synchronous: both at once.
        label_weight: Weight of the entropy of labels; messages to labels are divided by it.
        head_weight: Weight of the entropy of heads; messages to heads are divided by it. 0 for 1 / (number of
            labels).
        label_step: Share of the new distribution in an update of labels.
        head_step: Share of the new distribution in an update of heads.
        label_damping: Share of the old message that a message to labels keeps.
        head_damping: Share of the old message that a message to heads keeps.
        normaliser: Function that turns messages into distributions. relu: the positive parts, divided by their
            sum.
        weighted_start: Divide the initial label scores by label_weight as well.
        root_labels: Number of labels of a root, which may be the head of every word and represents the
            sentence in classification; 0 for no root.
        root_output: Input of a classifier from the root. scores: the scores of its labels, as in the published
            code; probabilities: their probabilities, as in the paper.
        penalty: Weight of the penalty in the loss; 0 for no penalty.
        penalised: Penalty. norm: the Euclidean norm of all scores of a word's label and its head's label;
            squares: the sum of their squares.
    """

    published: bool = False
    label_scores: Literal["projected", "table"] = "projected"
    dropout: Literal["everywhere", "updates"] = "everywhere"
    rank: int = 64
    distance: int | None = 3
    shared: bool = False
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
    weighted_start: bool = False
    root_labels: int = 0
    root_output: Literal["scores", "probabilities"] = "scores"
    penalty: float = 0.0
    penalised: Literal["norm", "squares"] = "norm"

    def require_scores_by_distance(self) -> None:
        """Check that scores depend on the distance, as `shared` requires.

        Raises:
            SettingError: If all distances share their scores or factors already.
        """
        if self.decomposition in ("weighted", "biased"):
            raise SettingError(
                f"--encoder.pt.shared is True, but --encoder.pt.decomposition {self.decomposition} shares its "
                "factors already; leave it out, or choose full, uv or uvw"
            )
        if self.distance is None:
            raise SettingError(
                "--encoder.pt.shared is True, but with --encoder.pt.distance null all scores are shared already; "
                "leave it out, or give a distance"
            )


@dataclass
class TransformerConfig:
    """The Transformer, for encoders of kind transformer; see `strukt.nn.Transformer`.

    Args:
        published: Use the baseline Transformer of Wu and Tu (2023), `strukt.nn.PublishedTransformer`. Sets
            norm_first to false, and the options of word embeddings as pt.published does.
        positions: Position encoding. absolute: sinusoids, or learned vectors if published, added to the words;
            relative: vectors of distances, added to keys and values.
        reach: Maximum relative distance, for relative positions; longer distances are clipped to it.
        distance_values: Add vectors of relative distances to values as well as keys; false to add them to keys
            only, as in the published code of the Probabilistic Transformer.
        feed_forward: Hidden size of the feed-forward networks; 0 for four times the size of the model.
        head_size: Size of an attention head; 0 for the size of the model divided by the number of heads.
        norm_first: Normalise before each block (pre-norm); false for after it (post-norm).
    """

    published: bool = False
    positions: Literal["absolute", "relative"] = "absolute"
    reach: int = 8
    distance_values: bool = True
    feed_forward: int = 0
    head_size: int = 0
    norm_first: bool = True


@dataclass
class FineTuningConfig:
    """The fine-tuning of a pretrained model, for encoders of kind pretrained.

    Args:
        rate: Learning rate of the last layer, as a share of the rate of weights outside the pretrained model;
            0 freezes the whole model.
        decay: Learning rate of each layer, as a share of the rate of the layer above it; 1 for equal rates.
        frozen: Number of lowest layers to freeze, together with the embeddings; 0 to freeze nothing.
        lora: Rank of LoRA adapters, which are trained in place of the weight matrices; 0 for none.
        recompute: Recompute activations in the backward pass instead of storing them (gradient checkpointing).
    """

    rate: float = 0.1
    decay: float = 1.0
    frozen: int = 0
    lora: int = 0
    recompute: bool = False


@dataclass
class EncoderConfig:
    """The encoder, which computes a vector for each word.

    Args:
        kind: Type of encoder. bilstm: bidirectional LSTM; lstm: left-to-right LSTM; convolution: gated
            convolutions; transformer: Transformer; pt: Probabilistic Transformer; pretrained: Hugging Face
            model; none: no context, each word on its own.
        layers: Number of layers, or of iterations of a Probabilistic Transformer.
        hidden: Half the size of the vectors: the size of one direction of a bidirectional LSTM, or half the
            number of labels of a Probabilistic Transformer.
        heads: Number of attention heads, or of channels of a Probabilistic Transformer.
        dropout: Dropout before, between and after the layers; pt.dropout and transformer.published may limit
            it to the layers.
        words: Size of the word embeddings.
        minimum_count: Minimum count of a word, character or affix in the training corpus; rarer ones are read as
            unknown.
        normalise: Share one embedding among words that differ only in case or digits; characters still tell
            them apart.
        word_dropout: Probability of replacing a word by the unknown word in training.
        characters: Network that computes a vector of a word from its characters. cnn: convolutions; lstm:
            bidirectional LSTM; none: no such vector.
        character_size: Size of the vector from the characters; a multiple of 3 for cnn, of 2 for lstm.
        affixes: Size of the embedding of each prefix and suffix of one to three letters; 0 for none.
        pretrained: Folder or hub name of the model, for kind pretrained.
        fine_tuning: Fine-tuning, for kind pretrained.
        transformer: Transformer, for kind transformer.
        pt: Probabilistic Transformer, for kind pt.
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
        """Set the options that a published model prescribes; `ranges` rejects other values."""
        for name, value in self.published_options().items():
            group, _, option = name.rpartition(".")
            part = getattr(self, group) if group else self
            if getattr(part, option) == getattr(type(part)(), option):
                setattr(part, option, value)

    @property
    def is_published(self) -> bool:
        """True if the encoder is one of the two published by Wu and Tu (2023)."""
        return {"pt": self.pt.published, "transformer": self.transformer.published}.get(self.kind, False)

    def published_options(self) -> dict[str, Any]:
        """Return the options that a published encoder sets, by name; empty if `is_published` is False."""
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
        """Dropout rate of the encoder's inputs and outputs; 0 if the encoder only applies dropout internally."""
        within = self.pt.dropout == "updates" if self.kind == "pt" else self.is_published
        return 0.0 if within else self.dropout

    def require_context(self) -> None:
        """Check that the encoder reads sentences, not only words.

        Raises:
            SettingError: If the encoder reads each word on its own.
        """
        if self.kind == "none":
            raise SettingError(
                "--encoder.kind none reads each word without its context; choose a kind that reads sentences"
            )

    @property
    def has_root(self) -> bool:
        """True if the encoder is a Probabilistic Transformer with a root, which represents the sentence."""
        return self.kind == "pt" and self.pt.root_labels > 0
