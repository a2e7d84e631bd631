"""An n-gram language model as arrays, for kernels that need the probabilities of the next label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from torch import Tensor

from strukt.kernels.arrays import Array
from strukt.kernels.jit import inner


class Level(Protocol):
    """The n-grams of one length; see `strukt.nn.kneser_ney.Level`."""

    @property
    def keys(self) -> Tensor: ...
    @property
    def counts(self) -> Tensor: ...
    @property
    def discounts(self) -> Tensor: ...
    @property
    def totals(self) -> Tensor: ...
    @property
    def backoff(self) -> Tensor: ...


class NgramModel(Protocol):
    """The members of a `strukt.nn.KneserNey` that beam search reads."""

    @property
    def words(self) -> int: ...
    @property
    def levels(self) -> Sequence[Level]: ...


class Ngrams(NamedTuple):
    """The levels of an n-gram model, concatenated; without a model there are no levels, and ``words`` is 0.

    The state of a text is the index of its context (its last words) at each level, -1 for a context never seen.

    Attributes:
        words: The size of the vocabulary.
        keys: The n-grams, ascending in each level: ``words + 1`` times the index of the context, plus the word.
        kept: The count of each n-gram minus its discount.
        first: The offset of the n-grams of each level, and finally their total number.
        totals: The sum of the counts in each context.
        backoff: The share of each context's probability that is left to the shorter context.
        first_context: The offset of the contexts of each level, and finally their total number.
    """

    words: int
    keys: Array
    kept: Array
    first: Array
    totals: Array
    backoff: Array
    first_context: Array


def ngrams_of(model: NgramModel | None) -> Ngrams:
    """Return the arrays of a model; empty ones for None.

    Examples:
        >>> ngrams_of(None).first
        array([0])
    """
    levels = [] if model is None else list(model.levels)
    kept = [level.counts - level.discounts[level.counts.clamp(max=len(level.discounts) - 1)] for level in levels]
    return Ngrams(
        0 if model is None else model.words,
        _joined([level.keys for level in levels], np.int64),
        _joined(kept, np.float64),
        np.cumsum([0, *(len(level.keys) for level in levels)]),
        _joined([level.totals for level in levels], np.float64),
        _joined([level.backoff for level in levels], np.float64),
        np.cumsum([0, *(len(level.totals) for level in levels)]),
    )


def _joined(tensors: Sequence[Tensor], dtype: npt.DTypeLike) -> Array:
    """Return tensors, perhaps none, as one concatenated array."""
    return np.concatenate([np.zeros(0, dtype), *(tensor.cpu().numpy().astype(dtype) for tensor in tensors)])


@inner
def _place(keys: Array, first: int, end: int, key: int) -> int:
    """Return the first index from ``first`` on whose key is at least ``key``; ``end`` if there is none before it.

    The search is binary; keys must ascend.
    """
    while first < end:
        middle = (first + end) // 2
        if keys[middle] < key:
            first = middle + 1
        else:
            end = middle
    return first


@inner
def begin(ngrams: Ngrams, state: Array) -> None:
    """Write the state of the empty text, which follows start symbols, numbered ``words``."""
    state[:] = -1
    for _ in range(len(state)):
        follow(ngrams, state, ngrams.words, state)


@inner
def follow(ngrams: Ngrams, before: Array, word: int, state: Array) -> None:
    """Write the state after one more word; ``state`` and ``before`` may be the same array."""
    for level in range(len(state) - 1, 0, -1):
        context, first, end = before[level - 1], ngrams.first[level - 1], ngrams.first[level]
        key = context * (ngrams.words + 1) + word
        place = _place(ngrams.keys, first, end, key)
        known = context >= 0 and place < end and ngrams.keys[place] == key
        state[level] = place - first if known else -1
    if len(state):
        state[0] = 0


@inner
def next_probabilities(ngrams: Ngrams, state: Array, row: Array) -> None:
    """Write the probability of each next word to ``row (words,)``: equation 13 of Chen and Goodman (1999)."""
    row[:] = 1.0 / ngrams.words
    for level in range(len(state)):
        context = state[level]
        at = ngrams.first_context[level] + context
        if context < 0 or ngrams.totals[at] == 0:
            continue
        for word in range(len(row)):
            row[word] *= ngrams.backoff[at]
        first, end = context * (ngrams.words + 1), ngrams.first[level + 1]
        place = _place(ngrams.keys, ngrams.first[level], end, first)
        while place < end and ngrams.keys[place] < first + ngrams.words:
            row[ngrams.keys[place] - first] += ngrams.kept[place] / ngrams.totals[at]
            place += 1
