"""Lexicalised trees: their dependencies, spans without scores of heads, long sentences, and messages."""

import math

import pytest
import torch
from tests.backends import assert_kernels_answer_as_the_reference

from strukt import LexicalisedTree, ProjectiveTree, SpanTree


def drawn(batch, n, scale=1.0):
    generator = torch.Generator().manual_seed(n)
    spans = scale * torch.randn(batch, n + 1, n + 1, n, generator=generator, dtype=torch.float64)
    return spans, scale * torch.randn(batch, n, n + 1, generator=generator, dtype=torch.float64)


def test_heads_are_projective_trees_and_all_of_them():
    trees = LexicalisedTree(torch.zeros(5, 5), torch.zeros(4, 5))
    heads = trees.heads(trees.enumerate_support())
    projective = ProjectiveTree(torch.zeros(4, 5))
    assert bool(projective.is_structure(heads).all())
    assert {tuple(row) for row in heads.tolist()} == {
        tuple(row) for row in projective.enumerate_support().tolist()
    }


def test_arc_marginals_are_those_of_the_heads():
    spans, arcs = drawn(2, 4)
    trees = LexicalisedTree(spans, arcs)
    events = trees.enumerate_support()
    probability = trees.log_prob(events).exp()
    arc = torch.nn.functional.one_hot(trees.heads(events), 5)
    assert torch.allclose(trees.arc_marginals, (probability[..., None, None] * arc).sum(0), atol=1e-12)


def test_padding_has_no_head():
    spans, arcs = drawn(3, 4)
    trees = LexicalisedTree(spans, arcs, [4, 2, 0])
    assert (trees.heads(trees.mode)[1:] >= 0).tolist() == [[True, True, False, False], [False] * 4]


def test_spans_may_have_one_score_for_all_heads():
    _, arcs = drawn(2, 5)
    spans = torch.randn(2, 6, 6, dtype=torch.float64).requires_grad_()
    every = spans.detach()[..., None].expand(2, 6, 6, 5).clone().requires_grad_()
    one, other = LexicalisedTree(spans, arcs), LexicalisedTree(every, arcs)
    assert torch.allclose(one.log_partition, other.log_partition)
    one.log_partition.sum().backward()
    other.log_partition.sum().backward()
    assert torch.allclose(spans.grad, every.grad.sum(-1), atol=1e-12)


def test_without_scores_of_arcs_each_split_has_two_heads():
    spans = torch.randn(6, 6, dtype=torch.float64)
    trees = LexicalisedTree(spans, torch.zeros(5, 6, dtype=torch.float64))
    assert torch.allclose(trees.log_partition, SpanTree(spans).log_partition + 4 * math.log(2))


@pytest.mark.parametrize("scale", [1.0, 300.0])
def test_long_sentences_agree_with_the_reference(on, scale):
    spans, arcs = drawn(2, 9, scale)

    def answers():
        trees = LexicalisedTree(spans, arcs, [9, 6])
        return trees.log_partition, trees.marginals, trees.entropy(), trees.max_score

    assert_kernels_answer_as_the_reference(on, answers, 1e-9, 1e-10)


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        ([[-1, 0, 2], [-1, -1, 1], [-1, -1, -1]], "label 2 of the span from fencepost 0 to 2 is out of range"),
        ([[-1, 1, 1], [-1, -1, 1], [-1, -1, -1]], "the span from fencepost 0 to 1 has the head 1, a word outside"),
        ([[-1, 0, -1], [-1, -1, 1], [-1, -1, -1]], "the whole sentence, from fencepost 0 to 2, is missing"),
    ],
)
def test_events_that_are_no_trees_are_explained(event, reason):
    trees = LexicalisedTree(torch.zeros(3, 3), torch.zeros(2, 3))
    assert not trees.is_structure(torch.tensor(event))
    assert reason in trees.explain(torch.tensor(event))


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"spans has shape \(4, 4\), and arcs \(4, 5\); for 4 words, expected"):
        LexicalisedTree(torch.zeros(4, 4), torch.zeros(4, 5))
    with pytest.raises(ValueError, match=r"spans has shape \(5, 4\), and arcs \(3, 4\); for 3 words, expected"):
        LexicalisedTree(torch.zeros(5, 4), torch.zeros(3, 4))
    with pytest.raises(ValueError, match=r"arcs has shape \(3, 4, 5\); expected \(4, 5\) or \(2, 4, 5\)"):
        LexicalisedTree(torch.zeros(2, 5, 5, 4), torch.zeros(3, 4, 5))


def test_too_many_trees_are_not_listed():
    assert len(LexicalisedTree(torch.zeros(5, 5), torch.zeros(4, 5)).enumerate_support()) == 5 * 2**3
    with pytest.raises(ValueError, match=f"{58786 * 2**11} trees are too many to enumerate"):
        LexicalisedTree(torch.zeros(13, 13), torch.zeros(12, 13)).enumerate_support()
