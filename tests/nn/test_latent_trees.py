"""Scores of latent trees, and trees that are always the same."""

import pytest
import torch

from strukt.distributions import NonProjectiveTree
from strukt.nn.latent_trees import FIXED, FixedTrees, TreeScorer, with_budget


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


def test_a_batch_whose_size_is_that_of_labels_is_read_without_labels():
    trees = TreeScorer(8, 4)(torch.randn(2, 3, 8))
    assert (trees.batch_shape, trees.event_shape) == ((2,), (3,))


def test_new_scores_do_not_make_all_trees_alike():
    """Which would take SparseMAP hundreds of trees to say."""
    torch.manual_seed(0)
    trees = TreeScorer(16, 16)(torch.randn(4, 12, 16), torch.full((4,), 12))
    assert 0.3 < trees.scores[0].std(-1).mean() < 5
    assert (trees.sparsemap().weights > 0).sum(-1).max() < 60


@pytest.mark.parametrize("rounds", [1, 2, 10])
def test_budgets_that_are_stopped_early_give_no_weight_to_what_is_no_arc(rounds):
    torch.manual_seed(0)
    lengths = torch.tensor([9, 5, 2])
    arcs = 3 * torch.randn(3, 9, 10, dtype=torch.float64)
    arcs.requires_grad_()
    found = with_budget(NonProjectiveTree(arcs, lengths), 2, rounds).marginals
    word, head = torch.arange(1, 10).unsqueeze(1), torch.arange(10)
    last = lengths.reshape(3, 1, 1)
    possible = (word <= last) & (head <= last) & (word != head)
    assert (found[~possible] == 0).all()
    assert (found[possible] > 0).any()
    (grad,) = torch.autograd.grad((found * torch.randn_like(found)).sum(), arcs)
    assert (grad[~possible] == 0).all()
    assert grad.isfinite().all()


def test_padding_changes_no_scores_and_no_gradients():
    results = []
    for filler in (0.0, torch.nan):
        torch.manual_seed(0)
        scorer, vectors = TreeScorer(3, 4), torch.randn(2, 4, 3)
        vectors[1, 2:] = filler
        found = scorer(vectors, torch.tensor([4, 2])).marginals
        found[..., 0].square().sum().backward()
        results.append([found, *(parameter.grad for parameter in scorer.parameters())])
    for expected, found in zip(*results, strict=True):
        torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("iterations", [None, 5])
@pytest.mark.parametrize("budget", [0, 1.5, True])
def test_a_budget_is_a_whole_number_above_0(budget, iterations):
    with pytest.raises(ValueError, match=r"budget is .*; expected (a whole number|at least 1)"):
        with_budget(NonProjectiveTree(torch.zeros(1, 3, 4)), budget, iterations)


@pytest.mark.parametrize("iterations", [None, 5])
@pytest.mark.parametrize("batch", [(), (2, 2)])
def test_a_budget_needs_one_batch_axis(batch, iterations):
    with pytest.raises(ValueError, match=r"trees has batch shape .*; expected one batch axis"):
        with_budget(NonProjectiveTree(torch.zeros(*batch, 3, 4), labelled=False), 1, iterations)


@pytest.mark.parametrize("head", [-2, 4])
def test_a_fixed_head_is_a_word_of_the_sentence(head):
    with pytest.raises(ValueError, match=f"heads holds {head} at batch item 0, position 1; expected 0 for"):
        FixedTrees.of_heads(torch.tensor([[0, head, 1]]))


@pytest.mark.parametrize("heads", [torch.tensor([0, 1]), torch.tensor([[0.0, 1.0]]), [[0, 1]]])
def test_fixed_heads_are_rows_of_integers(heads):
    with pytest.raises(ValueError, match=r"heads (has shape|is of type) .*; expected .*\(batch, n\)"):
        FixedTrees.of_heads(heads)


@pytest.mark.parametrize("name", FIXED)
def test_fixed_trees_have_room_for_every_word(name):
    with pytest.raises(ValueError, match="lengths holds 4 for batch item 1; expected 0 to 3"):
        FIXED[name](torch.tensor([2, 4]), 3)
