"""Trees over spans, read by the kernel and in PyTorch, against the definition."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from strukt import SpanTree
from strukt.kernels.spans import cpu, reference


def is_tree(square, n):
    """Whether the spans hold all words and the whole, do not cross, and are as many as a binary tree has."""
    used = [(i, j) for i in range(n + 1) for j in range(i + 1, n + 1) if square[i, j] >= 0]
    if n == 0:
        return not used
    crossing = any(i < k < j < m for i, j in used for k, m in used)
    leaves = all((i, i + 1) in used for i in range(n))
    return leaves and (0, n) in used and not crossing and len(used) == 2 * n - 1


@given(st.integers(1, 5), st.integers(0, 2**31), st.integers(0, 3))
@settings(max_examples=150, deadline=None)
def test_reading_equals_the_definition(n, seed, changes):
    torch.manual_seed(seed)
    lengths = torch.randint(0, n + 1, (4,))
    events = SpanTree(torch.randn(4, n + 1, n + 1, 3), lengths).sample()
    for _ in range(changes):
        item, i, j = torch.randint(4, ()), torch.randint(n + 1, ()), torch.randint(n + 1, ())
        events[item, i, j] = torch.randint(-1, 3, ())
    found, expected = cpu.read(events, lengths), reference.read(events, lengths)
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.dtype == theirs.dtype
    places, labels, are_trees = found
    assert are_trees.tolist() == [is_tree(square, int(m)) for square, m in zip(events, lengths, strict=True)]
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
