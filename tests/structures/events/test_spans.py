"""Trees over spans, read by the kernel and in PyTorch, against the definition."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.structures.events.backends import answers

from strukt import SpanTree


def is_tree(square, n):
    """Whether the spans hold all words and the whole, do not cross, and are as many as a binary tree has."""
    used = [(i, j) for i in range(n + 1) for j in range(i + 1, n + 1) if square[i, j] >= 0]
    if n == 0:
        return not used
    crossing = any(i < k < j < m for i, j in used for k, m in used)
    leaves = all((i, i + 1) in used for i in range(n))
    return leaves and (0, n) in used and not crossing and len(used) == 2 * n - 1


@given(st.integers(1, 5), st.integers(0, 2**31), st.integers(0, 3))
def test_reading_equals_the_definition(n, seed, changes):
    torch.manual_seed(seed)
    lengths = torch.randint(0, n + 1, (4,))
    events = SpanTree(torch.randn(4, n + 1, n + 1, 3), lengths).sample()
    for _ in range(changes):
        item, i, j = torch.randint(4, ()), torch.randint(n + 1, ()), torch.randint(n + 1, ())
        events[item, i, j] = torch.randint(-1, 3, ())
    every = range(3)
    expected, *others = answers("read_spans", events, lengths, every, every)
    right = [is_tree(square, int(m)) for square, m in zip(events, lengths, strict=True)]
    assert expected[2].tolist() == right
    for found in others:
        for mine, theirs in zip(found, expected, strict=True):
            assert mine.dtype == theirs.dtype
        _check_spans(found, expected, events, lengths)


def _check_spans(found, expected, events, lengths):
    """Compare spans with the entries of the events, and with those of the reference where these are trees."""
    places, labels, are_trees = found
    n = events.shape[-1] - 1
    assert are_trees.tolist() == expected[2].tolist()
    for item in range(4):
        used = [
            (i * (n + 1) + j, int(events[item, i, j]))
            for i in range(n + 1)
            for j in range(i + 1, int(lengths[item]) + 1)
            if events[item, i, j] >= 0
        ][: 2 * n]
        padding = [(-1, 0)] * (2 * n - len(used))
        assert list(zip(places[item].tolist(), labels[item].tolist(), strict=True)) == used + padding
        if are_trees[item]:
            assert torch.equal(places[item], expected[0][item])
            assert torch.equal(labels[item], expected[1][item])


@given(st.integers(1, 5), st.integers(0, 2**31))
@settings(max_examples=8, deadline=None)
def test_labels_must_be_in_the_range_of_their_width(n, seed):
    torch.manual_seed(seed)
    lengths = torch.randint(1, n + 1, (4,))
    events = SpanTree(torch.randn(4, n + 1, n + 1, 4), lengths).sample()
    words, wider = range(1, 4), range(2)
    expected = [
        all(
            int(square[i, j]) in (words if j == i + 1 else wider)
            for i in range(length)
            for j in range(i + 1, length + 1)
            if square[i, j] >= 0
        )
        for square, length in zip(events, lengths.tolist(), strict=True)
    ]
    for found in answers("read_spans", events, lengths, words, wider):
        assert found[2].tolist() == expected
    events[0, 0, 1] = -2  # no name for the absence of a span
    for found in answers("read_spans", events, lengths, range(4), range(4)):
        assert not found[2][0]


@given(st.integers(1, 4), st.integers(1, 5), st.integers(0, 2**31))
def test_places_of_bits(count, bits, seed):
    torch.manual_seed(seed)
    spans, codes = torch.randint(-1, 9, (3, count)), torch.randint(0, 1 << bits, (3, count))
    for positive, negative in answers("bit_places", spans, codes, bits):
        for row in range(3):
            pairs = [(k, bit) for k in range(count) for bit in range(bits)]
            for column, (k, bit) in enumerate(pairs):
                place = int(spans[row, k]) * bits + bit if spans[row, k] >= 0 else -1
                is_set = bool(codes[row, k] >> bit & 1)
                assert positive[row, column] == (place if is_set else -1)
                assert negative[row, column] == (-1 if is_set else place)
