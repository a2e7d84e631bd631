"""The configuration of language models."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from strukt.data import corpus
from strukt.tasks.common.config import FittingConfig, TrainerConfig
from strukt.tasks.common.uses import Use

GRAMMARS = ("pcfg", "lowrank-pcfg")
"""Models that give trees to whole sentences."""

_ATTENTIVE = ("mfa", "pt", "transformer")


@dataclass
class Config(FittingConfig):
    """Options of language models.

    Args:
        model: Hidden Markov models whose states and words are vectors, with transitions of low rank or any;
            grammars of vectors of symbols and words, with rules of low rank or any; a plain recurrent network, an
            LSTM, alone or with mean-field attention to the words before; a Probabilistic Transformer whose heads
            stand to the left, or a Transformer; or counts of n-grams.
        text: Sentences, each from its beginning to its end, or one stream, in which each stands behind the others.
        minimum_count: Rarer words are one unknown word.
        context: Words of the pieces in which a stream is learned; how many words back attention reaches, and how
            many are read again with the next piece.
        states: Hidden states.
        nonterminals: Symbols of a grammar for spans of two and more words.
        preterminals: Symbols of a grammar for words.
        latent: Size of a Gaussian vector for each sentence on which the rules of a grammar depend. That makes it a
            compound one, whose perplexity is a bound; 0 for none.
        rank: Of transitions or rules, of how words that are attended to depend on each other, or of the scores of
            labels and heads; or the size of the hidden layer of perceptrons.
        features: The map that makes the features of a transition of low rank of two vectors: exponentials of any
            linear function; exp(w x - |x|^2 / 2), with w learned, or drawn at random (FAVOR+); cosines of random
            ones, raised so that none is negative; or similarities to learned landmarks.
        temperature: What dot products of vectors of states are divided by.
        vectors: Whether they go through layers first, or stay plain, and the start is one more state; or are tied,
            one for each state, with a network for each use.
        blocks: Blocks of states, one for each Brown cluster of words, which no other states emit; 0 for any.
        clusters: A file of Brown clusters: a path in 0 and 1, a word and its frequency in each line, with TABs
            between; if empty, clusters are made of the training corpus.
        scores: Of mean-field attention: interactions of low rank, which are fast; or perceptrons of the states,
            for words and for pairs of them, as published.
        iterations: Sweeps of mean field, at most.
        damping: Share of its old value that a score of mean-field attention keeps in a sweep.
        tol: Change of a weight below which the sweeps of mean-field attention end; 0 to make all of them.
        input_feeding: Whether a decoder of its own reads what mean-field attention finds, word by word, as
            published; else that stands beside the state of the one LSTM.
        heads: Channels of a Probabilistic Transformer, or attention heads.
        size: Of the vectors of states and words; of a recurrent network also that of its state.
        layers: Of a recurrent network or a Transformer.
        order: The most words of an n-gram.
        state_dropout: Part of the states that are left out of a batch.
        feature_dropout: Part of the rank that is left out of a batch.
        dropout: Dropout in a network that reads from left to right.
    """

    summary = "how probable a text is: next words, missing words, new sentences"
    readers = corpus.TEXTS
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
