"""Checks of events, and the places of their scores: the kernels equal the reference, and both the definitions."""

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.structures.events.backends import answers

from strukt import LinearChain, MonotoneAlignment, NonProjectiveTree, ProjectiveTree, SemiMarkov, SpanningTree
from strukt.kernels import dispatch

SEEDS = st.integers(0, 2**31)
SIZES = st.integers(0, 6)


def both(question, *arguments):
    """The answer of the reference, after the kernels have given the same."""
    expected, *others = answers(question, *arguments)
    for found in others:
        for mine, theirs in zip(found, expected, strict=True):
            assert mine.dtype == theirs.dtype
            assert torch.equal(mine, theirs)
    return expected if len(expected) > 1 else expected[0]


def changed(events, low, high, changes):
    """Events with entries changed at random, so that some are no structures."""
    events = events.clone()
    for _ in range(changes if events.numel() else 0):
        events.view(-1)[torch.randint(events.numel(), ())] = torch.randint(low, high, ())
    return events


@given(SIZES, st.integers(1, 4), SEEDS, st.booleans())
@settings(deadline=None)
def test_tags(n, count, seed, per_step):
    torch.manual_seed(seed)
    tags, lengths = torch.randint(-1, count + 1, (5, n)), torch.randint(0, n + 1, (5,))
    right = both("in_range", tags, lengths, count)
    named = [all(0 <= tag < count for tag in row[:m]) for row, m in zip(tags.tolist(), lengths, strict=True)]
    assert right.tolist() == named
    singles, pairs = both("tag_places", tags, lengths, count, per_step)
    assert torch.equal(singles, both("alternative_places", tags, lengths, count))
    for row, m in enumerate(lengths.tolist()):
        known = tags[row].clamp(0, count - 1).tolist()
        assert singles[row].tolist() == [t * count + known[t] if t < m else -1 for t in range(n)]
        steps = [(t if per_step else 0) * count**2 + known[t] * count + known[t + 1] for t in range(n - 1)]
        assert pairs[row].tolist() == [step if t + 1 < m else -1 for t, step in enumerate(steps)]


@given(SIZES, st.integers(0, 3), st.integers(0, 2), SEEDS, st.integers(0, 3))
@settings(deadline=None)
def test_frames(n, m, blank, seed, changes):
    torch.manual_seed(seed)
    lengths, target_lengths = torch.randint(0, n + 1, (6,)), torch.randint(0, m + 1, (6,))
    targets = torch.tensor([label for label in range(4) if label != blank])[torch.randint(3, (6, m))]
    states = torch.full((6, 2 * m + 1), blank)
    states[:, 1::2] = targets
    labels = torch.randint(0, 4, (6, n))
    for row, length in enumerate(lengths.tolist()):  # some of the targets, each label spelt twice, then a blank
        spelt = [label for each in targets[row, : target_lengths[row]].tolist() for label in (each, each, blank)]
        if seed % 2 and len(spelt) <= length:
            labels[row, :length] = torch.tensor([*spelt, *[blank] * (length - len(spelt))])
    labels = changed(labels, -1, 5, changes)
    right = both("are_frames", labels, lengths, states, target_lengths, blank, 4)
    for row, length in enumerate(lengths.tolist()):
        frames = labels[row, :length].tolist()
        spelt = [label for label, _ in itertools.groupby(frames) if label != blank]
        wanted = targets[row, : target_lengths[row]].tolist()
        assert bool(right[row]) == (spelt == wanted and all(0 <= label < 4 for label in frames))


def is_segmentation(labels, longest, count):
    starts = [t for t, label in enumerate(labels) if label >= 0]
    widths = [after - start for start, after in itertools.pairwise([*starts, len(labels)])]
    named = all(-1 <= label < count for label in labels)
    return named and all(w <= longest for w in widths) and (not labels or starts[:1] == [0])


@given(SIZES, st.integers(1, 3), st.integers(1, 3), SEEDS, st.integers(0, 2), st.booleans(), st.booleans())
@settings(deadline=None)
def test_segmentations(n, longest, count, seed, changes, one_number, per_position):
    torch.manual_seed(seed)
    lengths = torch.randint(0, n + 1, (4,))
    labels = SemiMarkov(torch.randn(4, n, longest, count), None, lengths).sample()
    labels = changed(labels, -2, count + 1, changes)
    right = both("are_segmentations", labels, lengths, longest, count)
    rows = [row[:m] for row, m in zip(labels.tolist(), lengths.tolist(), strict=True)]
    assert right.tolist() == [is_segmentation(row, longest, count) for row in rows]
    pairs = 1 if one_number else count
    own, onward = both(
        "segment_places", labels[right], lengths[right], longest, count, pairs, per_position
    )
    for k, row in enumerate(row for row, is_right in zip(rows, right, strict=True) if is_right):
        starts = [t for t, label in enumerate(row) if label >= 0]
        for start, after in itertools.pairwise([*starts, len(row)]):
            assert own[k, start] == (start * longest + after - start - 1) * count + row[start]
            if after < len(row):
                step = row[start] * pairs + row[after] if pairs > 1 else 0
                assert onward[k, start] == (after - 1) * pairs * pairs * per_position + step
        assert int((own[k] >= 0).sum()) == len(starts)
        assert int((onward[k] >= 0).sum()) == max(len(starts) - 1, 0)


def is_tree(heads, single_root, projective):
    n = len(heads)
    if any(head < 0 or head > n for head in heads):
        return False
    for word in range(1, n + 1):
        for _ in range(n):
            word = heads[word - 1] if word else 0
        if word:
            return False
    if single_root and n and heads.count(0) != 1:
        return False
    arcs = [tuple(sorted((word + 1, head))) for word, head in enumerate(heads)]
    crossing = any(a < c < b < d for a, b in arcs for c, d in arcs)
    return not (projective and crossing)


@given(SIZES, SEEDS, st.integers(0, 2), st.booleans(), st.booleans(), st.booleans())
@settings(deadline=None)
def test_dependency_trees(n, seed, changes, single_root, projective, from_projective):
    torch.manual_seed(seed)
    lengths = torch.randint(0, n + 1, (6,))
    kind = ProjectiveTree if from_projective else NonProjectiveTree
    heads = changed(kind(torch.randn(6, n, n + 1), lengths, False).sample(), -1, n + 2, changes)
    right = both("are_dependency_trees", heads, lengths, single_root, projective)
    rows = zip(heads.tolist(), lengths.tolist(), strict=True)
    assert right.tolist() == [is_tree(row[:m], single_root, projective) for row, m in rows]


@given(st.integers(1, 6), SEEDS, st.integers(0, 2))
@settings(deadline=None)
def test_spanning_trees(n, seed, changes):
    torch.manual_seed(seed)
    lengths = torch.randint(0, n + 1, (4,))
    trees = SpanningTree(torch.randn(4, n, n), lengths).sample()
    edges = changed(trees, -1, 3, changes) if seed % 2 else trees.masked_fill(torch.rand(trees.shape) < 0.1, 1)
    right = both("are_spanning_trees", edges, lengths)
    for row, m in enumerate(lengths.tolist()):
        pairs = list(itertools.combinations(range(m), 2))
        used = [(i, j) for i, j in pairs if edges[row, i, j] == 1]
        reached = {0}
        for _ in range(m):
            reached |= {vertex for edge in used for vertex in edge if reached & set(edge)}
        marked = all(int(edges[row, i, j]) in (0, 1) for i, j in pairs)
        assert bool(right[row]) == (marked and len(used) == max(m - 1, 0) and (m == 0 or len(reached) == m))
    present, absent = both("edge_places", edges, lengths)
    inside = {i * n + j for i, j in itertools.combinations(range(int(lengths[0])), 2)}
    used = {place for place in inside if edges[0].flatten()[place] > 0}
    assert {int(place) for place in present[0] if place >= 0} == used
    assert {int(place) for place in absent[0] if place >= 0} == inside - used


@given(SIZES, SEEDS)
@settings(deadline=None)
def test_subsets(n, seed):
    torch.manual_seed(seed)
    taken, lengths = torch.randint(-1 if seed % 3 == 0 else 0, 2, (6, n)), torch.randint(0, n + 1, (6,))
    smallest = torch.randint(0, n + 1, (6,))
    largest = smallest + torch.randint(0, 2, (6,))
    right = both("are_subsets", taken, lengths, smallest, largest)
    present, absent = both("item_places", taken, lengths)
    for row, m in enumerate(lengths.tolist()):
        items = taken[row, :m].tolist()
        fits = int(smallest[row]) <= items.count(1) <= int(largest[row])
        assert bool(right[row]) == (fits and set(items) <= {0, 1})
        assert present[row].tolist() == [i if i < m and items[i] == 1 else -1 for i in range(n)]
        assert absent[row].tolist() == [i if i < m and items[i] != 1 else -1 for i in range(n)]


def cells_of_path(moves):
    """The cells of a path from the first to the last one, each with its move; None if the moves are no path."""
    n, m = len(moves), len(moves[0]) if moves else 0
    if n == 0 or m == 0:
        return [] if n == m else None
    at, cells = (n - 1, m - 1), []
    while min(at) >= 0:
        move = moves[at[0]][at[1]]
        if not 0 <= move < 3:
            return None
        cells.append((at, move))
        if at == (0, 0):
            break
        at = (at[0] - (move != 1), at[1] - (move != 2))
    marked = sum(move != -1 for row in moves for move in row)
    return cells if at == (0, 0) and cells[-1][1] == 0 and len(cells) == marked else None


@given(st.integers(1, 5), st.integers(1, 5), SEEDS, st.integers(0, 2))
@settings(deadline=None)
def test_paths(n, m, seed, changes):
    torch.manual_seed(seed)
    lengths, target_lengths = torch.randint(1, n + 1, (4,)), torch.randint(1, m + 1, (4,))
    structure = MonotoneAlignment.from_moves(torch.randn(4, n, m, 3), torch.zeros(3, 3), lengths, target_lengths)
    moves = changed(structure.sample(), -2, 4, changes)
    right = both("are_paths", moves, lengths, target_lengths)
    given_ = (moves[right], lengths[right], target_lengths[right])
    found = answers("path_places", *given_)
    grids = [moves[k, : lengths[k], : target_lengths[k]].tolist() for k in range(4)]
    assert right.tolist() == [cells_of_path(grid) is not None for grid in grids]
    for k, grid in enumerate(grid for grid, is_right in zip(grids, right, strict=True) if is_right):
        cells = cells_of_path(grid)[::-1]
        entering = sorted(3 * (i * m + j) + move for (i, j), move in cells)
        following = sorted(3 * before + move for (_, before), (_, move) in itertools.pairwise(cells))
        for places, pairs in found:
            assert sorted(place for place in places[k].tolist() if place >= 0) == entering
            assert sorted(place for place in pairs[k].tolist() if place >= 0) == following


@pytest.mark.parametrize("lengths", [(0, 0), (0, 2), (2, 0)])
def test_paths_of_nothing(lengths):
    moves = torch.full((1, 2, 2), -1)
    rows, columns = (torch.tensor([length]) for length in lengths)
    assert both("are_paths", moves, rows, columns).tolist() == [lengths == (0, 0)]


def test_events_with_samples_and_without_a_batch_are_asked_alike():
    chain = LinearChain(torch.randn(2, 3, 4, 5), torch.randn(5, 5))
    events = chain.sample((6,))
    assert chain.is_structure(events).shape == (6, 2, 3)
    assert chain.is_structure(events[0, 0, 0]).shape == (2, 3)  # one event for all items
    single = LinearChain(torch.randn(4, 5), torch.randn(5, 5))
    assert single.is_structure(torch.zeros(7, 4).long()).shape == (7,)
    assert bool(single.is_structure(torch.zeros(4).long()))
    with dispatch.using("reference"):
        expected = chain.log_prob(events)
    torch.testing.assert_close(chain.log_prob(events), expected)
