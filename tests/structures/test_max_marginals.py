"""The gradient of max-marginals, by kernels of tables: the parts of the structures behind them."""

import pytest
import torch

from strukt import LinearChain
from strukt.kernels import dispatch, jit
from strukt.testing.subjects import STRUCTURES

pytestmark = pytest.mark.skipif(
    jit.UNAVAILABLE is not None, reason=f"no compiled kernels: {jit.UNAVAILABLE}"
)


WITHOUT = {
    "BinaryCRF", "KDPP", "KSubset", "LowRankPCFG", "Matching", "NonProjectiveTree", "PCFG", "SpanningTree",
}  # fmt: skip
"""Structures of which the gradient has no kernel."""

SUBJECTS = [
    pytest.param(each, id=each.name) for each in STRUCTURES if each.name.split(",")[0] not in WITHOUT
]


def weighted(found, seed=0):
    """A sum of them, each with a factor of its own; forbidden parts have none."""
    factors = torch.randn(found.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return (factors * torch.where(found > -torch.inf, found, 0.0)).sum()


def has_kernel(subject):
    oracles = subject.case().distribution().oracles
    return oracles.kernel("max_marginals_gradient", subject.case().scores[0]) is not None


def test_the_gradient_has_kernels():
    kinds = {subject.name.split(",")[0] for subject in STRUCTURES if not has_kernel(subject)}
    assert kinds == WITHOUT


@pytest.mark.thinned("batch_shape", "subject")
@pytest.mark.parametrize("batch_shape", [(), (3,), (2, 2)])
@pytest.mark.parametrize("subject", SUBJECTS)
def test_the_gradient_is_that_of_the_reference(subject, batch_shape):
    case = subject.case(batch_shape).map(torch.Tensor.requires_grad_)
    gradients = torch.autograd.grad(weighted(case.distribution().max_marginals), case.scores)
    with dispatch.using("reference"):
        expected = torch.autograd.grad(weighted(case.distribution().max_marginals), case.scores)
    for found, true in zip(gradients, expected, strict=True):
        assert torch.allclose(found, true, atol=1e-12)


@pytest.mark.thinned("seed", "subject")
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("subject", SUBJECTS)
def test_ties_and_forbidden_parts(subject, seed):
    """The score of a structure is the sum of its parts' scores: so is each max-marginal, whichever is best."""
    generator = torch.Generator().manual_seed(seed)

    def spoil(score):
        forbidden = torch.rand(score.shape, generator=generator) < 0.15 * (seed % 3)
        return score.round().masked_fill(forbidden, -torch.inf).requires_grad_()

    sizes = [subject.size, max(subject.size - 1, subject.shortest), 0]
    case = subject.case((3,), lengths=sizes).map(spoil)
    total = weighted(case.distribution().max_marginals, seed)
    gradients = torch.autograd.grad(total, case.scores)
    pairs = zip(gradients, case.scores, strict=True)
    used = [torch.where(gradient != 0, gradient * score, 0.0).sum() for gradient, score in pairs]
    assert torch.allclose(sum(used), total, atol=1e-9)
    for gradient, score in zip(gradients, case.scores, strict=True):
        assert (gradient[score == -torch.inf] == 0).all()


@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_gradient_may_be_differentiated_again(subject):
    case = subject.case((2,)).map(torch.Tensor.requires_grad_)

    def second(distribution):
        found = distribution.max_marginals
        soft = torch.where(found > -torch.inf, found, 0.0).square().sum()
        gradients = torch.autograd.grad(soft, case.scores, create_graph=True)
        return torch.autograd.grad(sum(each.square().sum() for each in gradients), case.scores)

    found = second(case.distribution())
    with dispatch.using("reference"):
        expected = second(case.distribution())
    assert all(map(torch.allclose, found, expected))


def test_single_precision_and_shared_scores():
    unary, transition = torch.randn(4, 6, 3), torch.randn(3, 3, requires_grad=True)
    chain = LinearChain(unary, transition)
    (gradient,) = torch.autograd.grad(chain.max_marginals.sum(), transition)
    assert gradient.dtype == torch.float32
    assert gradient.sum() == 4 * 6 * 3 * 5  # each best sequence has five pairs
