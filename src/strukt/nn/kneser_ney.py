"""N-gram language models with Kneser-Ney smoothing, a baseline for other language models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from strukt.nn.inputs import lengths_of_symbols, require_sizes

DISCOUNTED = 3
"""The number of discounts: one for counts of 1, one for 2, and one for 3 or more."""

USUAL_DISCOUNTS = (0.5, 1.0, 1.5)
"""The discounts for a corpus without n-grams of some count from 1 to 4, or with estimates of 0 or less.

A discount of 0 would leave no probability for unseen words after contexts whose n-grams all have that count.
"""


class Level(NamedTuple):
    """The counts of the m distinct n-grams of one length k, over a vocabulary of v words.

    Attributes:
        keys: ``(m,)``, the n-grams in ascending order: ``v + 1`` times the index of the context (the first k - 1
            words, an n-gram of the level below), plus the index of the last word.
        counts: ``(m,)``, the count of each n-gram: the number of distinct words before it; on the longest level,
            and for n-grams that begin with the start symbol, its occurrences.
        discounts: ``(4,)``, the discounts for counts of 0, 1, 2, and 3 or more.
        totals: ``(contexts,)``, the sum of the counts in each context.
        backoff: ``(contexts,)``, the share of the total that discounts remove; the weight of the shorter context.
    """

    keys: Tensor
    counts: Tensor
    discounts: Tensor
    totals: Tensor
    backoff: Tensor

    def find(self, contexts: Tensor, words: Tensor, beginning: int) -> Tensor:
        """Return the indices of n-grams on this level; -1 for those that the corpus does not contain.

        Args:
            contexts: The index of the first k - 1 words on the level below; -1 if unseen.
            words: The index of the last word, from 0 to v; broadcasts with ``contexts``.
            beginning: The index of the start symbol, v.

        Returns:
            Indices, in the common shape of ``contexts`` and ``words``.
        """
        keys = contexts * (beginning + 1) + words
        places = torch.searchsorted(self.keys, keys).clamp(max=len(self.keys) - 1)
        return torch.where((contexts >= 0) & (self.keys[places] == keys), places, -1)


class KneserNey(nn.Module):
    """An n-gram language model with interpolated modified Kneser-Ney smoothing; it has counts, not parameters.

    Source: Chen and Goodman (1999), "An empirical study of smoothing techniques for language modeling", section
    3. As in Heafield et al. (2013), n-grams at the beginning of a sentence keep their numbers of occurrences at
    all lengths, because only the start symbol can come before them. There is no end symbol. If a corpus is too
    small to estimate the discounts, they are 0.5, 1 and 1.5.

    The counts stay on the CPU, where the arguments of `log_probs` and `next` must be, too. They are part of the
    module's ``state_dict``.

    Args:
        words: Size of the vocabulary, v.
        order: Maximum number of words of an n-gram.

    Raises:
        ValueError: If `words` or `order` is less than 1.

    Examples:
        >>> model = KneserNey(words=3, order=2)
        >>> model.count([torch.tensor([0, 1, 2]), torch.tensor([0, 2])])
        >>> model.log_probs(torch.tensor([[0, 1]])).exp()
        tensor([[0.6458, 0.3958]], dtype=torch.float64)
        >>> model.next(torch.tensor([[0]])).exp().sum()
        tensor(1., dtype=torch.float64)
    """

    def __init__(self, words: int, order: int = 5) -> None:
        super().__init__()
        require_sizes(words=words, order=order)
        self.words, self.order = words, order
        self.levels: list[Level] = []

    @property
    def beginning(self) -> int:
        """The index of the start symbol of sentences: v."""
        return self.words

    def count(self, sentences: Sequence[Tensor]) -> None:
        """Count the n-grams of a corpus, replacing earlier counts.

        Args:
            sentences: A vector of word indices, from 0 to v - 1, for each sentence.

        Complexity: O(order * n log n) time for n words in all sentences.

        Raises:
            ValueError: If there is no sentence, or one is not a vector of word indices.
        """
        if not len(sentences):
            raise ValueError("sentences is empty; expected at least one")
        for place, sentence in enumerate(sentences):
            if not isinstance(sentence, Tensor) or sentence.dim() != 1:
                raise ValueError(f"sentences[{place}] is {sentence!r:.60}; expected a LongTensor of shape (n,)")
            lengths_of_symbols(f"sentences[{place}]", sentence.unsqueeze(0), None, self.words)
        padding = torch.full((self.order,), self.beginning)
        symbols = torch.cat([part.cpu() for sentence in sentences for part in (padding, sentence)])
        lengths = torch.tensor([len(sentence) + self.order for sentence in sentences])
        places = torch.arange(len(symbols)) - (lengths.cumsum(0) - lengths).repeat_interleave(lengths)
        is_word = places >= self.order
        before = torch.arange(len(symbols)) - (places > 0).long()  # a sentence's first symbol precedes itself
        keys, numbers, counts = [], [], []
        number = torch.zeros_like(symbols)
        for _ in range(self.order):
            key, number = torch.unique(number[before] * (self.words + 1) + symbols, return_inverse=True)
            keys.append(key)
            numbers.append(number)
            counts.append(torch.bincount(number[is_word], minlength=len(key)))
        self._set(keys, _words_before(counts, numbers, symbols == self.beginning))

    def log_probs(self, x: Tensor, before: Tensor | None = None) -> Tensor:
        """Return the log-probability of each word given the words before it.

        Args:
            x: ``(batch, n)``, word indices from 0 to v - 1; there is no padding.
            before: ``(batch, order - 1)``, the preceding words, with the start symbol `beginning` in place of
                words before the sentence. If None, ``x`` is at the beginning of a sentence.

        Returns:
            ``(batch, n)``, in float64.

        Complexity: O(order * n log m) time per item, for at most m distinct n-grams of each length.

        Raises:
            ValueError: If a shape or a type is wrong, a word is not in the vocabulary, or nothing was counted.
        """
        contexts = [numbers[:, self.order - 1 : -1] for numbers in self._contexts(x, before)]
        return self._interpolated(contexts, x)

    def next(self, x: Tensor, before: Tensor | None = None) -> Tensor:
        """Return the log-probability of each word of the vocabulary as the next word.

        Args:
            x: ``(batch, n)``, the words so far, from 0 to v - 1; there is no padding.
            before: ``(batch, order - 1)``, the words before ``x``, as for `log_probs`; None if ``x`` is at the
                beginning of a sentence.

        Returns:
            ``(batch, v)``, in float64.

        Complexity: O(order * (n + v) log m) time per item.

        Raises:
            ValueError: As for `log_probs`.
        """
        contexts = [numbers[:, -1:] for numbers in self._contexts(x, before)]
        return self._interpolated(contexts, torch.arange(self.words, device=x.device)[None])

    def _contexts(self, x: Tensor, before: Tensor | None) -> list[Tensor]:
        """Return, for each length from 0 to order - 1, the index of the n-gram that ends at each symbol.

        The order + n symbols are start symbols, of which ``before`` replaces all but the first, then ``x``.

        Indices of n-grams that begin before the first symbol are wrong, but never used.
        """
        if not self.levels:
            raise ValueError("no sentences were counted; call count(sentences) first")
        lengths_of_symbols("x", x, None, self.words)
        x = x.long()
        padding = x.new_full((len(x), self.order), self.beginning)
        if before is not None:
            lengths_of_symbols("before", before, None, self.words + 1)  # with the start symbol
            if before.shape != (len(x), self.order - 1):
                raise ValueError(
                    f"before has shape {tuple(before.shape)}; expected {(len(x), self.order - 1)}, the words "
                    "before each sequence"
                )
            padding[:, 1:] = before
        symbols = torch.cat([padding, x], 1)
        numbers = [torch.zeros_like(symbols)]
        for level in self.levels[:-1]:
            shifted = torch.cat([numbers[-1][:, :1], numbers[-1][:, :-1]], 1)
            numbers.append(level.find(shifted, symbols, self.beginning))
        return numbers

    def _interpolated(self, contexts: list[Tensor], words: Tensor) -> Tensor:
        """Return log-probabilities: equation 13 of Chen and Goodman, from the shortest context to the longest."""
        result = torch.tensor(1 / self.words, dtype=torch.float64, device=words.device)
        for level, context in zip(self.levels, contexts, strict=True):
            entry = level.find(context, words, self.beginning)
            counts = torch.where(entry >= 0, level.counts[entry.clamp(min=0)], 0)
            kept = counts - level.discounts[counts.clamp(max=DISCOUNTED)]
            known = context.clamp(min=0)
            totals = torch.where(context >= 0, level.totals[known], 0)
            here = kept / totals.clamp(min=1) + level.backoff[known] * result
            result = torch.where(totals > 0, here, result)
        return result.log()

    def _set(self, keys: Sequence[Tensor], counts: Sequence[Tensor]) -> None:
        sizes = [1, *map(len, keys)]
        self.levels = [
            _level(key, key // (self.words + 1), count, size)
            for key, count, size in zip(keys, counts, sizes, strict=False)
        ]

    def get_extra_state(self) -> Tensor:
        """Return a row for each of the m n-grams of all lengths, with its length, key and count: ``(m, 3)``."""
        rows = [
            torch.stack([torch.full_like(level.keys, length), level.keys, level.counts], 1)
            for length, level in enumerate(self.levels, 1)
        ]
        return torch.cat(rows) if rows else torch.zeros(0, 3, dtype=torch.long)

    def set_extra_state(self, state: Tensor) -> None:
        """Restore the counts from ``state``, the result of `get_extra_state`; an empty one removes all counts.

        Raises:
            ValueError: If they are from a model with another order or number of words.
        """
        if not len(state):
            self.levels = []
        else:
            order, words = int(state[:, 0].max()), int(state[state[:, 0] == 1, 1].max())  # the start symbol
            if (order, words) != (self.order, self.words):
                raise ValueError(
                    f"the counts are of order {order} with {words} words; expected order {self.order} with "
                    f"{self.words} words, as this model has"
                )
            parts = [state[state[:, 0] == length].T.contiguous() for length in range(1, self.order + 1)]
            self._set([part[1] for part in parts], [part[2] for part in parts])


def _words_before(raw: Sequence[Tensor], numbers: Sequence[Tensor], is_beginning: Tensor) -> list[Tensor]:
    """Return adjusted counts for each length: numbers of distinct words before each n-gram; see `KneserNey`.

    The longest n-grams, and those at the beginning of a sentence, keep their numbers of occurrences.

    Args:
        raw: For each length, the number of occurrences of each n-gram.
        numbers: For each length, the index of the n-gram that ends at each symbol of the corpus.
        is_beginning: True for each symbol of the corpus that is the start symbol.
    """
    symbols = torch.arange(len(is_beginning))
    ends = [
        torch.zeros_like(count).scatter_(0, number, symbols)
        for count, number in zip(raw, numbers, strict=True)
    ]
    adjusted = list(raw)
    for k in range(len(raw) - 1):
        different = torch.bincount(numbers[k][ends[k + 1][raw[k + 1] > 0]], minlength=len(raw[k]))
        begins = is_beginning[(ends[k] - k).clamp(min=0)]
        adjusted[k] = torch.where(begins, raw[k], different)
    return adjusted


def _level(keys: Tensor, contexts: Tensor, counts: Tensor, size: int) -> Level:
    kinds = counts.clamp(max=DISCOUNTED)
    discounts = _discounts(counts)
    totals = torch.zeros(size, dtype=torch.long).index_add_(0, contexts, counts)
    taken = torch.zeros(size, dtype=torch.float64).index_add_(0, contexts, discounts[kinds])
    return Level(keys, counts, discounts, totals, taken / totals.clamp(min=1))


def _discounts(counts: Tensor) -> Tensor:
    """Return the discounts by equation 17 of Chen and Goodman, from the numbers of n-grams with counts 1 to 4."""
    number = torch.bincount(counts.clamp(max=5), minlength=5)[1:5].double()
    if (number == 0).any():
        return torch.tensor([0.0, *USUAL_DISCOUNTS], dtype=torch.float64)
    share = number[0] / (number[0] + 2 * number[1])
    each = torch.arange(1, 4)
    discounts = each - (each + 1) * share * number[1:] / number[:-1]
    if (discounts <= 0).any():
        return torch.tensor([0.0, *USUAL_DISCOUNTS], dtype=torch.float64)
    return torch.cat([discounts.new_zeros(1), discounts])
