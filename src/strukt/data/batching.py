"""Batches bounded by their number of tokens, in an order that is a function of (seed, epoch) alone."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterable, Sequence

from strukt.data.problems import DataWarning
from strukt.data.sentence import SentenceT


def batches(
    lengths: Sequence[int], max_tokens: int, seed: int | None = None, epoch: int = 0
) -> list[list[int]]:
    """Groups sentences of similar length into batches.

    A batch of k sentences costs k times the length of its longest one, padding included; that product is at
    most `max_tokens`, except that a sentence longer than `max_tokens` makes a batch of its own. Every
    sentence is in exactly one batch.

    Args:
        lengths: Number of tokens of each sentence.
        max_tokens: Bound on the padded size of a batch.
        seed: Without one, batches come in the order of length, longest last. With one, sentences of the same
            length are dealt out at random and the batches shuffled.
        epoch: Together with the seed it fixes the order, on every machine and in every process.

    Returns:
        The batches, each as indices into `lengths`.

    Raises:
        ValueError: `max_tokens` is below 1.

    Complexity: O(n log n).

    Examples:
        >>> batches([3, 9, 4, 20], max_tokens=12)
        [[0, 2], [1], [3]]
    """
    if max_tokens < 1:
        raise ValueError(f"max_tokens: got {max_tokens}, expected at least 1")
    order = list(range(len(lengths)))
    if seed is None:
        return _cut(sorted(order, key=lengths.__getitem__), lengths, max_tokens)
    generator = random.Random(f"{seed}/{epoch}")  # a string is hashed by SHA-512, the same everywhere
    generator.shuffle(order)
    result = _cut(sorted(order, key=lengths.__getitem__), lengths, max_tokens)
    generator.shuffle(result)
    return result


def split_long(sentences: Iterable[SentenceT], limit: int) -> tuple[list[SentenceT], list[SentenceT]]:
    """Splits off the sentences with more than `limit` words, with a warning that says how many and where.

    Returns:
        The others and the long ones, each in their order; together they are all sentences.

    Raises:
        ValueError: The limit is below 1.

    Examples:
        >>> from strukt.data import conllu
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     short, long = split_long(map(conllu.from_forms, [["Stop"], ["It", "works"]]), limit=1)
        >>> len(short), len(long)
        (1, 1)
    """
    if limit < 1:
        raise ValueError(f"limit: got {limit}, expected at least 1")
    short: list[SentenceT] = []
    long: list[SentenceT] = []
    for sentence in sentences:
        (long if len(sentence) > limit else short).append(sentence)
    if long:
        first = long[0]
        count = f"{len(long)} of {len(short) + len(long)} sentences"
        message = f"{count} have more than {limit} words and are set apart; the first stands here"
        warnings.warn(f"{first.path}:{first.line}: {message}", DataWarning, stacklevel=2)
    return short, long


def _cut(order: Sequence[int], lengths: Sequence[int], max_tokens: int) -> list[list[int]]:
    result: list[list[int]] = []
    for index in order:  # in ascending length, so that each sentence is the longest of its batch so far
        if result and (len(result[-1]) + 1) * max(lengths[index], 1) <= max_tokens:
            result[-1].append(index)
        else:
            result.append([index])
    return result
