"""The configuration of language models."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from strukt.data import corpus
from strukt.errors import SettingError
from strukt.tasks.common.config import FittingConfig, TrainerConfig, require_heads
from strukt.tasks.common.uses import Use

GRAMMARS = ("pcfg", "lowrank-pcfg")
"""Models that are grammars, which parse whole sentences."""

_ATTENTIVE = ("mfa", "pt", "transformer")


@dataclass
class Config(FittingConfig):
    """Options of language models.

    Args:
        model: Language model. hmm, lowrank-hmm: neural hidden Markov model, with dense or low-rank
            transitions; pcfg, lowrank-pcfg: neural grammar, with dense or low-rank rules; rnn, lstm: recurrent
            network; mfa: LSTM with mean-field attention to previous words; pt: causal Probabilistic
            Transformer; transformer: causal Transformer; ngram: n-grams with Kneser-Ney smoothing.
        text: Texts to learn from. sentences: each sentence on its own; stream: one continuous text, for all models
            but grammars.
        minimum_count: Minimum count of a word in the training corpus; other words are unknown.
        context: Number of words in a piece of a stream, and maximum number of previous words that attention
            sees.
        states: Number of hidden states.
        nonterminals: Number of nonterminals, symbols of a grammar for spans of two or more words.
        preterminals: Number of preterminals, symbols of a grammar for words.
        latent: Size of the Gaussian vector of each sentence in a compound grammar, for which perplexity is an
            estimated upper bound; 0 for a grammar with the same rules for all sentences.
        rank: Rank of transitions or rules, of the interactions of mean-field attention, or of the scores of a
            Probabilistic Transformer. With scores perceptron, hidden size of the perceptrons of mean-field
            attention.
        features: Feature map of low-rank transitions. linear: exponential of a linear function; exponential:
            exp(w x - |x|^2 / 2) of a state vector x, with learned w; favor: exponential with random w (FAVOR+);
            fourier: random cosines, shifted to be non-negative; nystrom: similarities to learned landmarks.
        temperature: Divisor of the dot products of state vectors.
        vectors: State vectors. layers: transformed by residual layers; plain: not transformed before a
            transition, with an additional start state; tied: one vector for each state, with a network for each
            use.
        blocks: Number of blocks of states. Each block emits the words of one Brown cluster, and no other block
            emits them; 0 to let all states emit all words.
        clusters: File of Brown clusters; each line has a path of 0 and 1, a word and its frequency, separated
            by TABs. If empty, clusters are computed from the training corpus.
        scores: Scores of mean-field attention. low-rank: interactions of low rank, which are fast; perceptron:
            perceptrons over states score words and pairs of words, as published.
        iterations: Maximum number of mean-field sweeps, or number of iterations of a Probabilistic
            Transformer.
        damping: Share of its old value that a score of mean-field attention keeps in a sweep.
        tol: Sweeps of mean-field attention end once no weight changes by more than this; 0 to make all
            --iterations sweeps.
        input_feeding: Feed the context of attention to a separate decoder, word by word, as published; false to
            predict from the context and the state of a single LSTM.
        heads: Number of attention heads, or of channels of a Probabilistic Transformer.
        size: Size of the vectors of states and words, and of the state of a recurrent network.
        layers: Number of layers, for models rnn, lstm, mfa and transformer.
        order: Maximum length of n-grams.
        state_dropout: Share of the states to drop in each batch.
        feature_dropout: Share of the features of low-rank transitions to drop in each batch.
        dropout: Dropout rate, for models rnn, lstm, mfa, pt and transformer.
    """

    summary = "the probability of a text: next words, missing words, new sentences"
    readers = corpus.TEXTS
    files = ("clusters",)
    uses = (
        Use.by_choice(["features", "feature_dropout"], "model", "lowrank-hmm"),
        Use.by_choice(
            ["states", "temperature", "vectors", "blocks", "state_dropout"], "model", "hmm", "lowrank-hmm"
        ),
        Use(["clusters"], "--blocks", lambda config: config.blocks > 0),
        Use.by_choice(["nonterminals", "preterminals", "latent"], "model", *GRAMMARS),
        Use.by_choice(["rank"], "model", "lowrank-hmm", "lowrank-pcfg", "mfa", "pt"),
        Use.by_choice(["iterations"], "model", "mfa", "pt"),
        Use.by_choice(["heads"], "model", "pt", "transformer"),
        Use.by_choice(["layers"], "model", "rnn", "lstm", "mfa", "transformer"),
        Use.by_choice(["dropout"], "model", "rnn", "lstm", *_ATTENTIVE),
        Use.by_choice(["order"], "model", "ngram"),
        Use(["size"], "a --model other than ngram", lambda config: config.model != "ngram"),
        Use(
            ["context"],
            "--text stream, or --model mfa, pt or transformer",
            lambda config: config.text == "stream" or config.model in _ATTENTIVE,
        ),
        Use.by_choice(["scores", "damping", "tol", "input_feeding"], "model", "mfa"),
    )

    model: Literal[
        "lowrank-hmm", "hmm", "lowrank-pcfg", "pcfg", "rnn", "lstm", "mfa", "pt", "transformer", "ngram"
    ] = "lowrank-hmm"
    text: Literal["sentences", "stream"] = "sentences"
    minimum_count: int = 1
    context: int = 64
    states: int = 1024
    nonterminals: int = 30
    preterminals: int = 60
    latent: int = 0
    rank: int = 128
    features: Literal["linear", "exponential", "favor", "fourier", "nystrom"] = "linear"
    temperature: float = 1.0
    vectors: Literal["layers", "plain", "tied"] = "layers"
    blocks: int = 0
    clusters: str = ""
    scores: Literal["low-rank", "perceptron"] = "low-rank"
    iterations: int = 5
    damping: float = 0.0
    tol: float = 0.0
    input_feeding: bool = False
    heads: int = 8
    size: int = 256
    layers: int = 1
    order: int = 5
    state_dropout: float = 0.1
    feature_dropout: float = 0.1
    dropout: float = 0.3
    trainer: TrainerConfig = field(default_factory=lambda: TrainerConfig(epochs=10, tokens=4096, patience=3))

    def require_fitting(self) -> None:
        if self.blocks and self.states % self.blocks:
            raise SettingError(f"--blocks is {self.blocks}; expected a divisor of --states, {self.states}")
        if self.text == "stream" and self.model.endswith("pcfg"):
            raise SettingError(
                "--text stream needs a model of continuous text; a grammar parses single sentences"
            )
        if self.model == "transformer":
            require_heads(self.heads, self.size)
