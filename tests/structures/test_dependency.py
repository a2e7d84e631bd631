"""Dependency trees: both conventions of the root, decoding at the edge of float32, long sentences, sampling."""

import math

import pytest
import torch
from scipy.stats import chisquare
from tests.scores import normal

from strukt.distributions import NonProjectiveTree, ProjectiveTree
from strukt.testing import brute_force

KINDS = pytest.mark.parametrize(
    ("kind", "enumerate_trees"),
    [(NonProjectiveTree, brute_force.non_projective_tree), (ProjectiveTree, brute_force.projective_tree)],
    ids=["non-projective", "projective"],
)
ROOTS = pytest.mark.parametrize("single_root", [True, False], ids=["single root", "any root"])


def assert_best(kind, enumerate_trees, arcs: torch.Tensor, single_root: bool) -> None:
    """The mode's score, summed in float64, is the best there is."""
    modes = kind(arcs, single_root=single_root).mode
    for item, mode in zip(arcs, modes, strict=True):
        table = enumerate_trees(len(item), item, single_root)
        assert table.find(mode).any(), f"{mode.tolist()} is no tree"
        assert table.score(mode) == table.max_score


@KINDS
@ROOTS
@pytest.mark.parametrize("magnitude", [1.0, 1e3, 1e6])
def test_mode_is_exact_at_every_magnitude(kind, enumerate_trees, single_root, magnitude):
    """Large and small scores mixed: a penalty added in float32 would swallow the small ones."""
    generator = torch.Generator().manual_seed(1)
    large = magnitude * torch.randint(-1, 2, (60, 4, 5), generator=generator)
    small = torch.randint(-3, 4, (60, 4, 5), generator=generator)
    assert_best(kind, enumerate_trees, (large + small).float(), single_root)


@KINDS
@pytest.mark.parametrize("wish", [1.0, 1e6, -1.0, -1e6])
def test_one_root_although_every_word_or_none_wants_to_be_it(kind, enumerate_trees, wish):
    arcs = normal(40, 4, 5, dtype=torch.float32)
    arcs[..., 0] += wish
    assert_best(kind, enumerate_trees, arcs, single_root=True)
    assert_best(kind, enumerate_trees, arcs, single_root=False)
    assert ((kind(arcs).mode == 0).sum(-1) == 1).all()


@KINDS
def test_one_root_where_the_greedy_choice_is_wrong(kind, enumerate_trees):
    """The best root of the unconstrained tree is not the root of the best tree with one root."""
    arcs = torch.tensor(
        [[10.0, -math.inf, 0.0, -9.0], [9.0, 9.0, -math.inf, -9.0], [9.5, -9.0, 8.0, -math.inf]]
    )
    assert_best(kind, enumerate_trees, arcs[None], single_root=True)
    assert_best(kind, enumerate_trees, 1e5 * arcs[None], single_root=True)


@KINDS
@ROOTS
def test_the_diagonal_is_never_read(kind, enumerate_trees, single_root):
    """No word is its own head, whatever the score of that says; its marginal and gradient are 0."""
    arcs = normal(2, 4, 5).requires_grad_()
    own = torch.diag_embed(torch.ones(4, dtype=torch.bool), offset=1)[:4]
    dirty = arcs.detach().masked_fill(own, 1e6).requires_grad_()
    clean, tree = kind(arcs, single_root=single_root), kind(dirty, single_root=single_root)
    assert torch.equal(clean.log_partition, tree.log_partition)
    assert torch.equal(clean.mode, tree.mode)
    assert (tree.marginals[:, own] == 0).all()
    (gradient,) = torch.autograd.grad(tree.log_partition.sum() + tree.entropy().sum(), dirty)
    assert (gradient[:, own] == 0).all()


@pytest.mark.parametrize("n", [1, 2, 10, 40])
def test_numbers_of_projective_trees_are_known(n):
    arcs = torch.zeros(n, n + 1, dtype=torch.float64)
    single, multiple = (ProjectiveTree(arcs, single_root=root).log_count.item() for root in (True, False))
    assert single == pytest.approx(math.log(math.comb(3 * n - 2, n - 1) // n), abs=1e-9)
    assert multiple == pytest.approx(math.log(math.comb(3 * n, n) // (2 * n + 1)), abs=1e-9)


def cycle() -> torch.Tensor:
    """Three words, each of which strongly wants the next."""
    arcs = normal(3, 4)
    arcs[[0, 1, 2], [2, 3, 1]] += 50
    return arcs


def clique() -> torch.Tensor:
    """Four words that want any head but the root."""
    arcs = 0.1 * normal(4, 5)
    arcs[:, 0] -= 50
    return arcs


@ROOTS
@pytest.mark.parametrize("coupled", [cycle, clique])
def test_samples_of_strongly_coupled_words_have_the_right_frequencies(coupled, single_root):
    """A random walk does not leave such words in a lifetime."""
    arcs = coupled()
    table = brute_force.non_projective_tree(len(arcs), arcs, single_root)
    torch.manual_seed(0)
    events = NonProjectiveTree(arcs, single_root=single_root).sample((2000,))
    counts = torch.stack([(events == event).all(-1).sum() for event in table.events])
    expected = 2000 * table.log_probs.exp()
    assert counts[expected < 1e-6].sum() == 0
    counts, expected = counts[expected > 5], expected[expected > 5]
    assert chisquare(counts, expected * counts.sum() / expected.sum()).pvalue > 1e-4


@pytest.mark.parametrize("coupling", [3.5, 4.6])
def test_walks_that_are_given_up_do_not_bias_the_samples(coupling):
    """Two words that pull at each other so much that some of the random walks between them are cut short."""
    arcs = torch.zeros(2, 3, dtype=torch.float64)
    arcs[0, 2] = arcs[1, 1] = coupling
    table = brute_force.non_projective_tree(2, arcs, single_root=False)
    torch.manual_seed(0)
    events = NonProjectiveTree(arcs, single_root=False).sample((400_000,))
    counts = torch.stack([(events == event).all(-1).sum() for event in table.events])
    assert chisquare(counts, 400_000 * table.log_probs.exp()).pvalue > 1e-4
