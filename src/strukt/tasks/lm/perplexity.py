"""The log-probability of a corpus, as separate sentences or as streams, and its perplexity."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from strukt.errors import DataError
from strukt.tasks.common.batch import Batch
from strukt.tasks.common.scores import not_nan
from strukt.tasks.lm.texts.text import Text


def log_prob_of_sentences(text: Text, batches: Iterable[Batch]) -> float:
    """Return the log-probability of a corpus, sentence by sentence.

    Args:
        text: The distribution over texts.
        batches: The sentences in batches, with the word indices `words` ``(batch, n)`` as inputs.
    """
    return sum(_total(text.stream(batch.inputs["words"], batch.lengths)[0]) for batch in batches)


def log_prob_of_streams(text: Text, streams: Sequence[Tensor], length: int) -> float:
    """Return the log-probability of long texts, read in pieces; each piece continues the state of the one before.

    Args:
        text: The distribution over texts.
        streams: The word indices of each text, on the device of the distribution.
        length: Number of words in a piece.
    """
    lengths = torch.tensor([len(stream) for stream in streams], device=streams[0].device)
    words = pad_sequence(list(streams), batch_first=True)
    state, total = None, 0.0
    for start in range(0, words.shape[1], length):
        piece = words[:, start : start + length]
        left = (lengths - start).clamp(min=0, max=piece.shape[1])
        log_probs, state = text.stream(piece, left, state)
        total += _total(log_probs)
    return total


def scores_of(log_prob: float, words: int, unknown: int) -> dict[str, float]:
    """Return `perplexity`, `bits` per word, and the percentage of `unknown` words.

    Args:
        log_prob: Log-probability of a corpus, in nats.
        words: Number of words of the corpus.
        unknown: Number of unknown words of the corpus.

    Raises:
        DataError: If there are no words.

    Examples:
        >>> scores_of(-4 * math.log(2), words=2, unknown=1)
        {'perplexity': 4.0, 'bits': 2.0, 'unknown': 50.0}
    """
    if words == 0:
        raise DataError("no sentence was read, so there is nothing to measure; give more text")
    nats = -log_prob / words
    return {
        "perplexity": math.exp(nats) if nats < 700 else math.inf,
        "bits": nats / math.log(2),
        "unknown": 100 * unknown / words,
    }


def _total(log_probs: Tensor) -> float:
    return float(not_nan(log_probs).double().sum())
