"""The Matrix-Tree theorem on a GPU, or else in Triton's interpreter, has the answers of the kernels for CPUs."""

import pytest
import torch
from tests.kernels.engine.gpu.device import DEVICE, ON_GPU, SLOW, by_kernels, needed
from tests.scores import normal

from strukt.distributions import NonProjectiveTree
from strukt.structures.non_projective_tree import cpu, gpu

pytestmark = needed

SIZES = [2, *(pytest.param(n, marks=SLOW) for n in (1, 3, 5)), pytest.param(33, marks=pytest.mark.slow)]

ROOTS = pytest.mark.parametrize(
    "single_root", [True, pytest.param(False, marks=SLOW)], ids=["single root", "any root"]
)
ROOTS_IF_SLOW = pytest.mark.parametrize(
    "single_root", [pytest.param(root, marks=SLOW) for root in (True, False)], ids=["single root", "any root"]
)

INFINITY = torch.inf


def without_root(arcs):
    arcs[:, 0] = -INFINITY


def without_heads(arcs):
    arcs[-1] = -INFINITY


def rooted_at_the_last(arcs):
    arcs[:-1, 0] = -INFINITY


def with_two_roots_at_least(arcs):
    arcs[[0, -1], 1:] = -INFINITY


def with_some_forbidden(arcs):
    arcs[torch.rand(arcs.shape, generator=torch.Generator().manual_seed(1)) < 0.3] = -INFINITY


FORBIDDEN = [
    with_two_roots_at_least,
    *(
        pytest.param(each, marks=SLOW)
        for each in (rooted_at_the_last, without_root, without_heads, with_some_forbidden)
    ),
]


def mixed(n, scale=1.0):
    """Items of lengths n, n - 1 and 0, with NaN in the padding."""
    arcs, lengths = scale * normal(3, n, n + 1), torch.tensor([n, n - 1, 0])
    for item, length in zip(arcs, lengths, strict=True):
        item[length:] = torch.nan
        item[:, length + 1 :] = torch.nan
    return arcs, lengths


def answers(backend, arcs, lengths, single_root):
    """Log-partitions, marginals, their derivative, and entropies and cross-entropies with their gradients."""
    given, factors = (arcs, lengths, single_root), torch.linspace(0.5, 2.0, len(arcs)).to(arcs)
    log_partition, chart = backend.inside(*given)
    direction = normal(*arcs.shape, seed=2).to(arcs)
    result = log_partition, backend.outside(*given, factors, chart)
    result += backend.derivative(*given, factors, direction, chart)
    result += backend.entropy(*given), backend.entropy_gradient(*given, factors)
    both = arcs, normal(*arcs.shape, seed=3).to(arcs), lengths, single_root
    result += backend.surprise(*both), backend.surprise_gradient(*both, factors)
    return [each.cpu() for each in result]


def agree(arcs, lengths, single_root, tolerance):
    found = by_kernels(answers, gpu, arcs.to(DEVICE), lengths.to(DEVICE), single_root)
    right = answers(cpu, arcs.double(), lengths, single_root)
    for order, (mine, exact) in enumerate(zip(found, right, strict=True)):
        assert torch.allclose(mine.double(), exact, tolerance, tolerance), order
    return found


@ROOTS
@pytest.mark.parametrize("n", SIZES)
def test_items_of_all_lengths(n, single_root):
    agree(*mixed(n), single_root, 1e-11)


@ROOTS
@pytest.mark.parametrize("forbid", FORBIDDEN)
def test_forbidden_arcs(forbid, single_root):
    arcs = normal(1, 3, 4)
    forbid(arcs[0])
    found = agree(arcs, torch.tensor([3]), single_root, 1e-11)
    impossible = forbid in (without_root, without_heads) or (single_root and forbid is with_two_roots_at_least)
    if impossible:
        assert found[0] == -INFINITY
        assert not any(each.any() for each in found[1:])


@SLOW
@pytest.mark.parametrize("single_root", [True, False])
def test_cross_entropies_to_trees_that_lack_arcs(single_root):
    """Arcs that no tree uses may be forbidden; those that one uses, however improbable, make it infinite."""
    arcs, others = normal(6, 3, 4), normal(6, 3, 4, seed=1)
    arcs[0, 1, [0, 1]] = -INFINITY  # the head of word 2 is word 3, which cannot depend on it
    others[0, 2, 2] = -INFINITY
    arcs[1, 0, 2], others[1, 0, 2] = -500.0, -INFINITY
    without_heads(others[2])
    without_heads(arcs[3])
    others[3, 0] = -INFINITY
    others[4, 2], others[4, :, 3] = -INFINITY, -INFINITY  # padding
    with_some_forbidden(arcs[5])
    others[5] = torch.where(arcs[5] == -INFINITY, arcs[5], others[5])
    given = arcs, others, torch.tensor([3, 3, 3, 3, 2, 3])

    def found(backend, device):
        both = *(each.to(device) for each in given), single_root
        factors = torch.linspace(-1.0, 1.0, 6, dtype=torch.float64, device=device)
        return [backend.surprise(*both).cpu(), backend.surprise_gradient(*both, factors).cpu()]

    for mine, right in zip(by_kernels(found, gpu, DEVICE), found(cpu, "cpu"), strict=True):
        assert torch.allclose(mine, right, 1e-11, 1e-11)
    assert found(cpu, "cpu")[0].isinf().tolist() == [False, True, True, False, False, False]


@ROOTS_IF_SLOW
@pytest.mark.parametrize("scale", [300.0, 1e5])
def test_scores_far_apart(scale, single_root):
    """Log-partitions of float32 scores to 1e-6 of their size, marginals to 1e-5."""
    arcs, lengths = mixed(5, scale)
    with_some_forbidden(arcs[0])
    agree(arcs, lengths, single_root, 1e-9)
    agree(arcs.float(), lengths, single_root, 1e-6)


@ROOTS_IF_SLOW
@pytest.mark.parametrize("coupling", [20.0, 1000.0])
def test_strongly_coupled_cycles(coupling, single_root):
    arcs = normal(1, 4, 5)
    for word, head in ((0, 2), (1, 1), (2, 4), (3, 3)):
        arcs[0, word, head] += coupling
    agree(arcs, torch.tensor([4]), single_root, 1e-9)


@pytest.mark.skipif(not ON_GPU, reason="needs a GPU")
@pytest.mark.parametrize("n", [40, 64, 130])
def test_equal_bits_in_every_run(n):
    arcs, lengths = (each.to(DEVICE) for each in mixed(n, 3.0))
    agree(arcs.cpu(), lengths.cpu(), True, 1e-9)
    first = by_kernels(answers, gpu, arcs, lengths, True)
    for _ in range(50):
        again = by_kernels(answers, gpu, arcs, lengths, True)
        assert all(torch.equal(one, other) for one, other in zip(first, again, strict=True))


@ROOTS_IF_SLOW
def test_a_training_step_and_a_gradient_of_marginals(single_root):
    arcs, event = normal(1, 3, 4), torch.tensor([[0, 1, 1]])

    def gradients(device):
        leaf = arcs.to(device).requires_grad_()
        tree = NonProjectiveTree(leaf, single_root=single_root)
        values = tree.log_prob(event.to(device)), tree.marginals.square().sum()
        return [torch.autograd.grad(value.sum(), leaf)[0].cpu() for value in values]

    for mine, right in zip(by_kernels(gradients, DEVICE), gradients("cpu"), strict=True):
        assert torch.allclose(mine, right, 1e-11, 1e-11)
