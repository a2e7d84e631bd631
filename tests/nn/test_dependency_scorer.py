"""Scores of dependencies: each of a pair by itself."""

import pytest
import torch

from strukt.nn.dependency_scorer import DependencyScorer


@pytest.fixture
def scorer():
    torch.manual_seed(0)
    scorer = DependencyScorer(8, 3, arc_size=6, label_size=4)
    with torch.no_grad():
        for parameter in scorer.parameters():
            parameter.normal_()
    return scorer.double()


def test_each_arc_is_scored_by_its_two_words(scorer):
    vectors = scorer.with_root(torch.randn(2, 4, 8).double())
    arcs = scorer.arc_scores(vectors)
    assert arcs.shape == (2, 4, 5)
    for word in range(4):
        for head in range(5):
            left = scorer.arc_dependent(vectors[:, word + 1 : word + 2])
            right = scorer.arc_head(vectors[:, head : head + 1])
            torch.testing.assert_close(arcs[:, word, head], scorer.arc_score(left, right)[:, 0, 0, 0])


def test_labels_are_those_of_the_arc_to_the_given_head(scorer):
    vectors = scorer.with_root(torch.randn(2, 3, 8).double())
    heads = torch.tensor([[0, 3, 1], [2, 0, -1]])
    labels = scorer.label_scores(vectors, heads)
    for item, row in enumerate(heads.tolist()):
        for word, head in enumerate(row):
            dependent = scorer.label_dependent(vectors[item, word + 1][None, None])
            candidate = scorer.label_head(vectors[item, max(head, 0)][None, None])
            expected = scorer.label_score(dependent, candidate)[0, 0, 0]
            torch.testing.assert_close(labels[item, word], expected)


def test_the_root_stands_in_front_in_the_type_of_the_words(scorer):
    words = torch.randn(2, 3, 8, dtype=torch.bfloat16)
    vectors = scorer.with_root(words)
    assert vectors.dtype == torch.bfloat16
    assert torch.equal(vectors[:, 1:], words)
    assert torch.equal(vectors[:, 0], scorer.root.bfloat16().expand(2, 8))


def test_scores_are_zero_at_first_and_in_float32_at_least():
    scorer = DependencyScorer(8, 3, arc_size=6, label_size=4).bfloat16()
    vectors = scorer.with_root(torch.randn(1, 3, 8, dtype=torch.bfloat16))
    for scores in (scorer.arc_scores(vectors), scorer.label_scores(vectors, torch.zeros(1, 3, dtype=torch.long))):
        assert scores.dtype == torch.float32
        assert scores.abs().sum() == 0
