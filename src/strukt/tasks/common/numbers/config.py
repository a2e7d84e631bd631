"""Options that the tasks on lines of numbers share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from strukt.errors import SettingError
from strukt.tasks.common.config import FittingConfig, OptimizerConfig, TrainerConfig, require_heads
from strukt.tasks.common.uses import Use


@dataclass
class NumberConfig(FittingConfig):
    """The options of models that encode numbers and decode an answer, with or without attention.

    Args:
        encoder: Encoder. bilstm: bidirectional LSTM; lstm: left-to-right LSTM; rnn: plain recurrent network;
            transformer: Transformer of two layers.
        decoder: Decoder: an LSTM or a plain recurrent network.
        start: Initial state of the decoder, without attention. ends: a projection of the encoder's vectors at
            the first and the last position; last: the vector at the last position, as published.
        heads: Number of attention heads of a Transformer.
        attention: Attention of the decoder. none: no attention; dot-product: softmax over dot products;
            additive: softmax over scores of a perceptron; variational: additive, with random contexts;
            mean-field: any number of relevant positions, which depend on each other.
        scores: Scores of mean-field attention. low-rank: interactions of low rank, which are fast; perceptron:
            perceptrons over encoder and decoder states score positions and pairs of positions, as published.
        iterations: Maximum number of mean-field sweeps; with 0, positions do not depend on each other.
        damping: Share of its old value that a score keeps in a sweep; 0 as published.
        tol: Sweeps end once no weight changes by more than this; 0 to make all --iterations sweeps.
        rivalry: Initial strength with which similar positions compete, for low-rank scores.
        prior: Mean of the prior of random contexts. mean: the mean of the encoder's vectors; standard: zero.
        kl_weight: Weight of the KL divergence of random contexts from their prior.
        input_feeding: Feed the previous context to the decoder together with the previous symbol, as
            published; steps are then computed one by one.
        output_context: Predict from the attention's context as well as from the decoder's state.
        size: Size of the embeddings, of the states of the decoder and of each direction of the encoder, and of
            the attention.
        dropout: Dropout of the embeddings and of the vectors from which the answer is predicted.
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
    # Sums over many positions need more precision than bfloat16 has.
    trainer: TrainerConfig = field(default_factory=lambda: TrainerConfig(epochs=5, precision="32"))

    def require_fitting(self) -> None:
        if not self.output_context and not self.input_feeding and self.attention != "none":
            raise SettingError(
                "--output_context and --input_feeding are both false, so the attention has no effect; set one to "
                "true"
            )
        if self.start == "last" and self.attention == "none" and self.encoder == "bilstm":
            raise SettingError(
                "--start last needs encoder vectors of the size of the decoder's state, and those of --encoder "
                "bilstm have twice that size; choose --start ends"
            )
        if self.encoder == "transformer":
            require_heads(self.heads, self.size)
