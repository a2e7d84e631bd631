"""Scores of latent trees, and trees that are always the same."""

import torch

from strukt.distributions import NonProjectiveTree
from strukt.nn.latent_trees import FIXED, FixedTrees, TreeScorer


def test_fixed_trees_are_trees_of_every_length():
    lengths = torch.arange(7)
    any_scores = NonProjectiveTree(torch.zeros(7, 6, 7), lengths, single_root=False)
    for name, heads_of in FIXED.items():
        heads = heads_of(lengths, 6)
        assert any_scores.is_structure(heads).all(), name
        assert torch.equal(FixedTrees.of_heads(heads).marginals, any_scores.to_parts(heads)), name


def test_scores_do_not_depend_on_the_batch():
    torch.manual_seed(0)
    scorer, vectors = TreeScorer(8, 4).double(), torch.randn(2, 5, 8, dtype=torch.float64)
    with torch.no_grad():
        scorer.score.weight.normal_()
    trees = scorer(vectors, torch.tensor([5, 3]))
    alone = scorer(vectors[1:, :3], torch.tensor([3]))
    torch.testing.assert_close(trees.marginals[1, :3, :4], alone.marginals[0])
    assert trees.marginals[0].std() > 0.01
