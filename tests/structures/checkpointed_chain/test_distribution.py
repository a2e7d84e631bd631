"""A checkpointed chain says what the plain one says, at any length, and keeps less for its gradient."""

import pytest
import torch
from torch import Tensor

from strukt.distributions import CheckpointedChain, LinearChain
from strukt.kernels import jit
from strukt.structures.checkpointed_chain import cpu

LENGTHS = [0, 1, 2, 3, 4, 5, 8, 9, 10, 17, 26, 37]


def scores(n: int, c: int, steps: int, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(n)
    unary = torch.randn(5, n, c, generator=generator, dtype=dtype).requires_grad_()
    return unary, torch.randn(steps, c, c, generator=generator, dtype=dtype).requires_grad_()


def answers(
    kind: type[LinearChain], unary: Tensor, transition: Tensor, lengths: Tensor
) -> tuple[Tensor, ...]:
    """Log-partition, marginals, and gradients with items weighted, one of them by zero."""
    chain = kind(unary, transition[0] if len(transition) == 1 else transition.expand(5, -1, -1, -1), lengths)
    weights = torch.tensor([1.0, -2.0, 0.0, 1e-3, 3.0], dtype=unary.dtype)
    found = chain.log_partition
    grads = torch.autograd.grad(
        (found * weights)[found.isfinite()].sum(), (unary, transition), allow_unused=True
    )
    return found.detach(), chain.marginals.detach(), *(grad for grad in grads if grad is not None)


def assert_same(unary: Tensor, transition: Tensor, lengths: Tensor) -> None:
    plain = answers(LinearChain, unary, transition, lengths)
    checkpointed = answers(CheckpointedChain, unary, transition, lengths)
    for expected, found in zip(plain, checkpointed, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("per_step", [False, True])
def test_it_equals_the_plain_chain(n, per_step):
    lengths = torch.tensor([n, n // 2, n - n // 3, min(n, 1), max(n - 1, 0)])
    assert_same(*scores(n, 3, max(n - 1, 0) if per_step else 1), lengths)


@pytest.mark.parametrize("n", LENGTHS[1:])
def test_it_equals_the_plain_chain_where_tags_are_forbidden(n):
    unary, transition = (score.detach() for score in scores(n, 4, 1))
    unary = unary.masked_fill(unary < -0.8, -torch.inf).requires_grad_()
    transition = transition.masked_fill(transition < -0.8, -torch.inf).requires_grad_()
    assert_same(unary, transition, torch.full((5,), n))


@pytest.mark.parametrize("scale", [1e2, 1e4])
def test_it_equals_the_plain_chain_in_log_space(scale):
    unary, transition = (score.detach() * scale for score in scores(30, 4, 1))
    assert_same(unary.requires_grad_(), transition.requires_grad_(), torch.tensor([30, 29, 7, 6, 5]))


def test_states_that_can_hardly_be_reached_carry_their_gradient():
    unary = torch.zeros(1, 9, 2, dtype=torch.float64)
    unary[0, 3, 1] = -600.0  # the border of two segments: its other tag is all but impossible
    leaf = unary.requires_grad_()
    chain = CheckpointedChain(leaf, torch.zeros(2, 2, dtype=torch.float64))
    (gradient,) = torch.autograd.grad(chain.log_partition.sum(), leaf)
    assert gradient[0, 3, 1].log().item() == pytest.approx(-600.0, abs=1e-6)
    torch.testing.assert_close(gradient[0, 4:], torch.full((5, 2), 0.5, dtype=torch.float64))


def test_a_hundred_thousand_positions_in_float32():
    unary, transition = (score[:1].detach() for score in scores(100_000, 3, 1, torch.float32))
    expected = LinearChain(unary.double(), transition[0].double())
    found = CheckpointedChain(unary, transition[0])
    torch.testing.assert_close(found.log_partition.double(), expected.log_partition, rtol=1e-6, atol=0)
    torch.testing.assert_close(found.marginals.double(), expected.marginals, rtol=1e-5, atol=1e-6)


@pytest.mark.skipif(jit.UNAVAILABLE is not None, reason=f"kernels do not compile: {jit.UNAVAILABLE}")
def test_it_keeps_one_state_for_each_root_of_the_length():
    for n in (100, 10_000, 1_000_000):
        unary, transition = torch.empty(1, n, 1), torch.zeros(1, 1, 1, 1)
        _, segments, _ = cpu.chart_shape(unary, transition, torch.tensor([n]))
        assert segments <= n**0.5 + 1
    _, states = cpu.inside(torch.zeros(1, 100, 2), torch.zeros(1, 1, 2, 2), torch.tensor([100]))
    assert states.shape == cpu.chart_shape(torch.zeros(1, 100, 2), transition, torch.tensor([100]))
