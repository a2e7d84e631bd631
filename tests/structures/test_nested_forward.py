"""Derivatives of forward mode, in either mode: right or refused, but never silently wrong."""

import pytest
import torch
from tests.further import SUBJECTS
from torch.func import grad, jvp

from strukt import KDPP, NonProjectiveTree
from strukt.losses import entmax_loss
from strukt.mappings import budget, entmax, fusedmax, ksubset, normmax, oscarmax, sparsemax

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*torch.jit.script. is deprecated:DeprecationWarning"  # PyTorch's own
)


def is_right(total, leaves):
    """Compare both modes over forward mode with forward over reverse mode; True if forward mode is not refused."""
    steps, every = tuple(map(torch.randn_like, leaves)), tuple(range(len(leaves)))

    def slope(*leaves):
        return jvp(total, leaves, steps)[1]

    changes = jvp(grad(total, every), leaves, steps)[1]
    for change, other in zip(changes, grad(slope, every)(*leaves), strict=True):
        assert torch.allclose(other, change, rtol=1e-8, atol=1e-8)
    try:
        curvature = jvp(slope, leaves, steps)[1]
    except NotImplementedError:
        return False
    expected = sum((change * step).sum() for change, step in zip(changes, steps, strict=True))
    assert torch.allclose(curvature, expected, rtol=1e-8, atol=1e-8)
    return True


@SUBJECTS
def test_forward_over_forward_is_right_or_refused(subject):
    case = subject.case((2,), lengths=[3, 2], size=3)
    leaves = tuple(score.detach() for score in case.scores)
    assert is_right(lambda *leaves: case.with_scores(leaves).distribution().log_partition.square().sum(), leaves)
    is_right(lambda *leaves: case.with_scores(leaves).distribution().entropy().square().sum(), leaves)
    is_right(lambda *leaves: case.with_scores(leaves).distribution().marginals.square().sum(), leaves)
    event = case.distribution().mode
    is_right(lambda *leaves: case.with_scores(leaves).distribution().log_prob(event).square().sum(), leaves)


def test_subsets_by_determinants_are_right_where_those_of_pytorch_are_wrong():
    vectors, subset = torch.randn(4, 3, dtype=torch.float64), torch.tensor([1, 1, 0, 0])

    def subsets(vectors):
        return KDPP(vectors @ vectors.mT + torch.eye(4, dtype=torch.float64), 2)

    assert is_right(lambda vectors: subsets(vectors).log_partition, (vectors,))
    assert is_right(lambda vectors: subsets(vectors).log_prob(subset), (vectors,))
    assert is_right(lambda vectors: subsets(vectors).entropy(), (vectors,))


@pytest.mark.parametrize(
    ("mapping", "parameter"),
    [(sparsemax, -1), (normmax, 1.5), (fusedmax, 0.2), (oscarmax, 0.2), (ksubset, 2), (budget, 2.0)],
)
def test_mappings_are_right_or_refuse(mapping, parameter):
    scores = torch.randn(3, 4, dtype=torch.float64)
    right = is_right(lambda scores: mapping(scores, parameter).pow(3).sum(), (scores,))
    assert right == (mapping is not normmax)


def test_parameters_and_losses_are_right_or_refuse():
    scores, exponent, label = torch.randn(3, 4).double(), torch.tensor(1.4).double(), torch.tensor([0, 3, 1])
    assert is_right(lambda scores: entmax(scores, 1.5).pow(3).sum(), (scores,))
    assert not is_right(lambda scores, exponent: entmax(scores, exponent).pow(3).sum(), (scores, exponent))
    assert not is_right(lambda scores: entmax_loss(scores, label).sum(), (scores,))

def test_the_error_names_a_derivative_that_works():
    arcs = torch.randn(3, 4)

    def slope(arcs):
        return jvp(lambda arcs: NonProjectiveTree(arcs).entropy(), (arcs,), (arcs,))[1]

    with pytest.raises(NotImplementedError, match=r"torch\.func\.hessian"):
        jvp(slope, (arcs,), (arcs,))
    assert torch.func.hessian(lambda arcs: NonProjectiveTree(arcs).entropy())(arcs).any()
