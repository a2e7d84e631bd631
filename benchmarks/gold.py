"""Random gold structures to train on, the same in every process, made by code that no library shares."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import torch
from torch import Tensor


def tags(batch: int, n: int, labels: int) -> Tensor:
    """Return a label for each position, `(batch, n)`."""
    draw = Random(0)
    return torch.tensor([[draw.randrange(labels) for _ in range(n)] for _ in range(batch)])


def segments(batch: int, n: int, longest: int, labels: int) -> Tensor:
    """Return segments of at most `longest` positions: the label of each at its first position, -1 elsewhere."""
    draw = Random(0)
    event = torch.full((batch, n), -1)
    for item in event:
        start = 0
        while start < n:
            item[start] = draw.randrange(labels)
            start += draw.randint(1, longest)
    return event


def heads(batch: int, words: int) -> Tensor:
    """Return projective trees with one word attached to the root: heads `(batch, words)`, 0 for the root."""
    draw = Random(0)
    return torch.tensor([_projective(words, draw) for _ in range(batch)])


def _projective(words: int, draw: Random) -> list[int]:
    """Return the heads of a random projective tree; words are counted from 1."""
    heads = [0] * words

    def attach(low: int, high: int, head: int, alone: bool = False) -> None:
        """Attach words `low` to `high - 1` to `head`, as neighbouring subtrees, or just one if `alone`."""
        while low < high:
            end = high if alone else draw.randint(low + 1, high)
            word = draw.randrange(low, end)
            heads[word] = head
            attach(low, word, word + 1)
            attach(word + 1, end, word + 1)
            low = end

    attach(0, words, 0, alone=True)
    return heads


def trees(batch: int, words: int, of_words: range, of_spans: range) -> Tensor:
    """Return binary trees `(batch, words + 1, words + 1)`: the label of each span, -1 where there is none.

    Args:
        batch: The number of trees.
        words: The number of words of each sentence.
        of_words: Labels to choose from for single words.
        of_spans: Labels to choose from for wider spans.
    """
    draw = Random(0)
    event = torch.full((batch, words + 1, words + 1), -1)
    for item in event:
        for start, end in _spans(0, words, draw):
            item[start, end] = draw.choice(of_words if end - start == 1 else of_spans)
    return event


def _spans(start: int, end: int, draw: Random) -> Iterator[tuple[int, int]]:
    """Yield the spans of a random binary tree from one fencepost to another."""
    yield start, end
    if end - start > 1:
        middle = draw.randrange(start + 1, end)
        yield from _spans(start, middle, draw)
        yield from _spans(middle, end, draw)
