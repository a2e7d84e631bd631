"""Long inputs in single precision: right to 1e-5 against double precision, finite, and never negative."""

import pytest
import torch

from strukt.distributions import LinearChain, NonProjectiveTree, ProjectiveTree, SpanTree


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def answers(make, *scores: torch.Tensor) -> tuple[torch.Tensor, ...]:
    leaves = [score.clone().requires_grad_() for score in scores]
    log_partition = make(*leaves).log_partition
    return log_partition.detach(), *torch.autograd.grad(log_partition.sum(), leaves)


def assert_single_is_right(make, *scores: torch.Tensor) -> tuple[torch.Tensor, ...]:
    single = answers(make, *scores)
    double = answers(make, *(score.double() for score in scores))
    for found, expected in zip(single, double, strict=True):
        assert found.isfinite().all()
        scale = expected.abs().max()
        assert ((found - expected).abs().max() / scale) < 1e-5
    return single


def test_chains_of_a_hundred_thousand_positions():
    _, unary, transition = assert_single_is_right(LinearChain, normal(100_000, 4), normal(4, 4, seed=1))
    assert torch.allclose(unary.sum(-1), torch.ones(100_000), atol=1e-5)
    assert torch.isclose(transition.sum(), torch.tensor(99_999.0), rtol=1e-5)


@pytest.mark.parametrize("scale", [1.0, 10.0])
def test_span_trees_of_three_hundred_words(scale):
    _, marginals = assert_single_is_right(SpanTree, scale * normal(301, 301))
    assert (marginals >= 0).all()
    assert torch.isclose(marginals.sum(), torch.tensor(599.0), rtol=1e-5)


@pytest.mark.parametrize("scale", [1.0, 10.0])
def test_projective_trees_of_two_hundred_words(scale):
    _, marginals = assert_single_is_right(ProjectiveTree, scale * normal(200, 201))
    assert (marginals >= 0).all()
    assert torch.allclose(marginals.sum(-1), torch.ones(200), atol=1e-5)


@pytest.mark.parametrize("scale", [1.0, 40.0])
def test_non_projective_trees_of_five_hundred_words(scale):
    _, marginals = assert_single_is_right(NonProjectiveTree, scale * normal(500, 501))
    assert (marginals >= 0).all()
    assert torch.allclose(marginals.sum(-1), torch.ones(500), atol=1e-5)
    assert torch.isclose(marginals[:, 0].sum(), torch.ones(()), atol=1e-5)
