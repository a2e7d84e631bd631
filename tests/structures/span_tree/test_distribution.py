"""Span trees: how the shapes of scores are read, the best and k best trees, the edges of sizes."""

import math

import pytest
import torch

from strukt.distributions import SpanTree


def test_two_equal_axes_are_spans_without_labels():
    assert SpanTree(torch.zeros(2, 4, 4)).batch_shape == (2,)
    assert not SpanTree(torch.zeros(4, 4)).labelled


def test_a_shorter_last_axis_are_labels():
    trees = SpanTree(torch.zeros(2, 4, 4, 3))
    assert trees.labelled
    assert trees.batch_shape == (2,)
    assert trees.event_shape == (4, 4)


def test_as_many_labels_as_fenceposts_must_be_told():
    spans = torch.zeros(4, 4, 4)
    with pytest.raises(ValueError, match="labelled=True or labelled=False"):
        SpanTree(spans)
    assert SpanTree(spans, labelled=True).batch_shape == ()
    assert SpanTree(spans, labelled=False).batch_shape == (4,)
    assert SpanTree(spans, lengths=torch.tensor(3)).labelled
    assert not SpanTree(spans, lengths=torch.full((4,), 3)).labelled


@pytest.mark.parametrize("shape", [(3, 4), (0, 0), (2, 3, 4), (3, 3, 0)])
def test_other_shapes_are_refused(shape):
    with pytest.raises(ValueError, match="spans has shape"):
        SpanTree(torch.zeros(shape))


@pytest.mark.parametrize("n", range(1, 12))
def test_the_number_of_trees_is_a_catalan_number(n):
    count = math.comb(2 * (n - 1), n - 1) // n
    assert SpanTree(torch.zeros(n + 1, n + 1, dtype=torch.float64)).log_count.exp().round() == count
    labelled = SpanTree(torch.zeros(n + 1, n + 1, 3, dtype=torch.float64), labelled=True)
    expected = torch.tensor(count, dtype=torch.float64).log() + (2 * n - 1) * math.log(3)
    assert torch.allclose(labelled.log_count, expected)


def test_what_is_not_a_span_is_ignored():
    spans = torch.randn(5, 5, generator=torch.Generator().manual_seed(0))
    other = spans + torch.ones(5, 5).tril() * 1000
    assert torch.equal(SpanTree(spans).log_partition, SpanTree(other).log_partition)
    assert torch.equal(SpanTree(spans).mode, SpanTree(other).mode)


def test_crossing_requirements_leave_no_tree():
    required = torch.zeros(5, 5, dtype=torch.bool)
    required[0, 2] = required[1, 3] = True
    assert SpanTree(torch.zeros(5, 5)).condition(required=required).log_partition == -torch.inf


def test_a_huge_score_of_a_span_that_no_tree_has():
    """Its weight overflows in probability space, where it meets a sum of nothing."""
    spans = torch.zeros(5, 5, dtype=torch.float64)
    spans[0, 2] = spans[1, 3] = -torch.inf
    spans[0, 3] = 1000.0
    trees = SpanTree(spans)
    assert trees.log_partition == 0.0
    assert trees.marginals[0, 3] == 0.0
    assert trees.marginals[1, 4] == 1.0
