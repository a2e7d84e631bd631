"""Batches of bounded padded size, in an order that is a function of (seed, epoch) alone."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from strukt.data.files.problems import DataWarning
from strukt.data.sentence import SentenceT

LONG = 1000
"""Number of words above which a sentence counts as long; time and memory of trees grow at least quadratically."""


def batches(
    lengths: Sequence[int],
    max_tokens: int,
    seed: int | None = None,
    epoch: int = 0,
    max_sentences: int | None = None,
) -> list[list[int]]:
    """Group sentences of similar length into batches.

    The padded size of a batch, its number of sentences times the length of the longest, is at most `max_tokens`; a
    longer sentence is alone in its batch. Every sentence is in exactly one batch.

    Args:
        lengths: Number of words of each sentence, or of any other unit that is padded.
        max_tokens: Bound on the padded size of a batch.
        seed: If None, batches are sorted by length, longest last. Otherwise sentences of equal
            length are shuffled among themselves, and so are the batches.
        epoch: Number of the epoch; ignored without a seed. Seed and epoch determine the order, which is the same
            on every machine and in every process.
        max_sentences: Bound on the number of sentences of a batch; no bound if None.

    Returns:
        The batches, each as indices into `lengths`.

    Raises:
        ValueError: If `max_tokens` or `max_sentences` is below 1.

    Complexity: O(n log n) for n sentences.

    Examples:
        >>> batches([3, 9, 4, 20], max_tokens=12)
        [[0, 2], [1], [3]]
    """
    most = max(len(lengths), 1) if max_sentences is None else max_sentences
    _require_bounds(max_tokens=max_tokens, max_sentences=most)
    order = list(range(len(lengths)))
    if seed is None:
        return _cut(sorted(order, key=lengths.__getitem__), lengths, max_tokens, most)
    generator = random.Random(f"{seed}/{epoch}")  # strings are seeded by SHA-512, which is the same everywhere
    generator.shuffle(order)
    result = _cut(sorted(order, key=lengths.__getitem__), lengths, max_tokens, most)
    generator.shuffle(result)
    return result


def padded_size(lengths: Sequence[int]) -> int:
    """Return the size of a batch with padding: the number of sentences times the length of the longest.

    Args:
        lengths: Number of words (or pieces) of each sentence.

    Examples:
        >>> padded_size([3, 4])
        8
    """
    return len(lengths) * max(lengths, default=0)


def consecutive_batches(
    sentences: Iterable[SentenceT],
    sizes: Callable[[list[SentenceT]], list[int]],
    max_tokens: int,
    most: int = 32,
) -> Iterator[list[SentenceT]]:
    """Cut a stream of sentences into batches of consecutive sentences, each of bounded padded size.

    Args:
        sentences: Any number of sentences; at most `most` are read ahead.
        sizes: Returns the number of words (or pieces) of each sentence in a list.
        max_tokens: Bound on the padded size of a batch; a longer sentence is alone in its batch.
        most: Maximum number of sentences in a batch.

    Raises:
        ValueError: If `max_tokens` or `most` is below 1.

    Examples:
        >>> of_words = lambda words: [len(word) for word in words]
        >>> list(consecutive_batches(["ab", "c", "defgh"], of_words, max_tokens=6, most=9))
        [['ab', 'c'], ['defgh']]
    """
    _require_bounds(max_tokens=max_tokens, most=most)
    stream = iter(sentences)
    while ahead := list(islice(stream, most)):
        lengths, start = sizes(ahead), 0
        for end in range(1, len(ahead) + 1):
            if end == len(ahead) or padded_size(lengths[start : end + 1]) > max_tokens:
                yield ahead[start:end]
                start = end


def split_long(
    sentences: Iterable[SentenceT], limit: int, lengths: Sequence[int] | None = None, unit: str = "words"
) -> tuple[list[SentenceT], list[SentenceT]]:
    """Split off the sentences that are longer than a limit; warn how many there are and where the first begins.

    Args:
        sentences: The sentences.
        limit: Maximum length of a sentence that is not split off.
        lengths: Length of each sentence, in the unit of the limit; the number of words if None.
        unit: Plural noun for the unit of the lengths, used in the warning.

    Returns:
        The short and the long sentences, each in their original order; together they are all sentences.

    Raises:
        ValueError: If the limit is below 1, or there is not one length for each sentence.

    Warns:
        DataWarning: If any sentence is split off.

    Examples:
        >>> from strukt.data import conllu
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     short, long = split_long(map(conllu.from_forms, [["Stop"], ["It", "works"]]), limit=1)
        >>> len(short), len(long)
        (1, 1)
    """
    _require_bounds(limit=limit)
    short: list[SentenceT] = []
    long: list[SentenceT] = []
    listed = list(sentences)
    for sentence, length in zip(listed, map(len, listed) if lengths is None else lengths, strict=True):
        (long if length > limit else short).append(sentence)
    if long:
        first = long[0]
        count = f"{len(long)} of {len(short) + len(long)} sentences"
        message = f"{count} have more than {limit} {unit} and are set aside; the first begins here"
        warnings.warn(f"{first.path}:{first.line}: {message}", DataWarning, stacklevel=2)
    return short, long


def warn_about_long(sentences: Iterable[SentenceT]) -> Iterator[SentenceT]:
    """Yield the sentences unchanged, and warn at the first one of more than `LONG` words.

    Warns:
        DataWarning: If there is such a sentence, which may take minutes.
    """
    is_said = False
    for sentence in sentences:
        if len(sentence) > LONG and not is_said:
            is_said = True
            place = f"{sentence.path}:{sentence.line}"
            message = f"{place}: the sentence has {len(sentence):,} words, which may take minutes; "
            advice = "blank lines or line ends separate sentences"
            warnings.warn(message + advice, DataWarning, stacklevel=2)
        yield sentence


def _require_bounds(**bounds: int) -> None:
    for name, bound in bounds.items():
        if bound < 1:
            raise ValueError(f"{name} is {bound}; expected at least 1")


def _cut(order: Sequence[int], lengths: Sequence[int], max_tokens: int, most: int) -> list[list[int]]:
    """Cut indices of sentences, in ascending order of length, into batches of at most `most` sentences."""
    result: list[list[int]] = []
    for index in order:  # each sentence is the longest of its batch so far
        size = len(result[-1]) + 1 if result else 0
        if 1 < size <= most and size * max(lengths[index], 1) <= max_tokens:
            result[-1].append(index)
        else:
            result.append([index])
    return result
