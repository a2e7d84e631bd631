"""Options that the tasks on lines of numbers share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from strukt.tasks.common.config import FittingConfig, OptimizerConfig, TrainerConfig
from strukt.tasks.common.uses import Use


@dataclass
class NumberConfig(FittingConfig):
    """The options of models that encode numbers, and attend to them in decoding.

    Args:
        encoder: LSTMs that read both ways, or one way; a plain recurrent network; or a Transformer of two layers.
        decoder: An LSTM or a plain recurrent network.
        start: Without attention, the positions of the encoder from which the decoder begins: the last as
            published, or both ends.
        heads: Attention heads of a Transformer.
        attention: How the decoder looks at the input: not at all; by a softmax over products, or over scores of a
            small network; by such scores, to random contexts around what they give; or by mean field, where any
            number of positions is relevant, and depends on others.
        scores: Of mean field: interactions of low rank, which are fast; or perceptrons of states of the encoder
            and the decoder, for positions and for pairs of them, as published.
        iterations: Sweeps of mean field, at most.
        damping: Share of its old value that a score keeps in a sweep; 0 as published.
        tol: Change of a weight below which the sweeps end; 0 to make all of them.
        rivalry: How much the relevance of a position speaks against that of similar ones at first, at low rank.
        prior: Around what random contexts are expected: the mean of the encoder's vectors, or zero.
        kl_weight: Weight in the loss of how far random contexts are from what was expected.
        input_feeding: Whether the decoder reads the context of the state before, beside the symbol before, as
            published; steps then are taken one by one.
        output_context: Whether what is written is chosen from the context of the new state, too.
        size: Of the vectors of symbols, of the states of each direction of the encoder and of the decoder, and
            within the attention.
        dropout: Dropout of the vectors of symbols and of what is predicted from.
    """

    uses: ClassVar[tuple[Use, ...]] = (
        Use.by_choice(["scores", "iterations", "damping", "tol"], "attention", "mean-field"),
        Use.by_choice(["prior", "kl_weight"], "attention", "variational"),
        Use.by_choice(["start"], "attention", "none"),
        Use(
            ["rivalry"],
            "--scores low-rank and --attention mean-field",
            lambda config: config.scores == "low-rank" and config.attention == "mean-field",
        ),
        Use.by_choice(["heads"], "encoder", "transformer"),
        Use(["input_feeding", "output_context"], "an --attention", lambda config: config.attention != "none"),
    )

    encoder: Literal["bilstm", "lstm", "rnn", "transformer"] = "bilstm"
    decoder: Literal["lstm", "rnn"] = "lstm"
    start: Literal["ends", "last"] = "ends"
    heads: int = 4
    attention: Literal["none", "dot-product", "additive", "variational", "mean-field"] = "mean-field"
    scores: Literal["low-rank", "perceptron"] = "low-rank"
    iterations: int = 5
    damping: float = 0.5
    tol: float = 0.0
    rivalry: float = 0.0
    prior: Literal["mean", "standard"] = "mean"
    kl_weight: float = 0.1
    input_feeding: bool = False
    output_context: bool = True
    size: int = 64
    dropout: float = 0.0
    optimizer: OptimizerConfig = field(default_factory=lambda: OptimizerConfig(learning_rate=5e-3))
    # Sums over many positions need more digits than bfloat16 has.
    trainer: TrainerConfig = field(default_factory=lambda: TrainerConfig(epochs=5, precision="32"))
