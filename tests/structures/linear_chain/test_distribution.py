"""What only a linear chain has: transitions, and long sequences."""

import math

import pytest
import torch
from torch.autograd import grad, gradcheck, gradgradcheck

from strukt.distributions import LinearChain
from strukt.testing import brute_force

KINDS = {"shared": (2, 2), "per item": (4, 2, 2), "per step": (4, 3, 2, 2)}
LENGTHS = torch.tensor([4, 0, 1, 3])


def normal(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def steps_of(transition: torch.Tensor, item: int) -> torch.Tensor:
    return transition if transition.dim() == 2 else transition[item]


def pair_marginals(table: brute_force.Table) -> torch.Tensor:
    """Probability of each pair of tags at each step, `(n - 1, c, c)`, by enumeration."""
    pairs = table.parts[:, :-1, :, None] * table.parts[:, 1:, None, :]
    return table.expected(pairs[table.scores > -math.inf])


@pytest.fixture(params=KINDS)
def scores(request) -> tuple[torch.Tensor, torch.Tensor]:
    return normal(4, 4, 2), normal(*KINDS[request.param], seed=1)


def tables(unary: torch.Tensor, transition: torch.Tensor) -> list[brute_force.Table]:
    return [
        brute_force.chain(int(length), unary[i], steps_of(transition, i)) for i, length in enumerate(LENGTHS)
    ]


def test_transition_marginals_agree_with_enumeration(scores):
    expected = torch.stack([pair_marginals(table) for table in tables(*scores)])
    actual = LinearChain(*scores, LENGTHS).transition_marginals
    assert actual.shape == (4, 3, 2, 2)
    assert torch.allclose(actual, expected, atol=1e-12)


def test_transition_marginals_agree_with_enumeration_under_constraints():
    unary, transition = normal(4, 4, 3), normal(3, 3, seed=1)
    transition[0, 1] = transition[2] = -math.inf
    unary[0, 1, 0] = -math.inf
    chain = LinearChain(unary, transition, LENGTHS)
    expected = torch.stack([pair_marginals(table) for table in tables(unary, transition)])
    assert torch.allclose(chain.transition_marginals, expected, atol=1e-12)
    assert (chain.transition_marginals[:, :, 0, 1] == 0).all()


def test_transition_marginals_are_differentiable(scores):
    unary, transition = (score.requires_grad_() for score in scores)

    def pairs(unary, transition):
        return LinearChain(unary, transition, LENGTHS).transition_marginals

    assert gradcheck(pairs, (unary, transition))
    assert gradgradcheck(pairs, (unary, transition), fast_mode=True)


def test_no_positions_at_all():
    chain = LinearChain(torch.zeros(2, 0, 3), torch.zeros(3, 3))
    assert chain.log_partition.tolist() == [0, 0]
    assert chain.marginals.shape == (2, 0, 3)
    assert chain.mode.shape == (2, 0)
    assert chain.sample((4,)).shape == (4, 2, 0)
    assert chain.entropy().tolist() == [0, 0]


def test_independent_positions_have_softmax_marginals():
    unary = 5 * normal(2, 300, 7)
    chain = LinearChain(unary, torch.zeros(7, 7, dtype=torch.float64))
    assert torch.allclose(chain.marginals, unary.softmax(-1))
    assert torch.allclose(chain.log_partition, unary.logsumexp(-1).sum(-1))
    assert torch.equal(chain.mode, unary.argmax(-1))


@pytest.mark.parametrize("scale", [1, 5])
@pytest.mark.parametrize("offset", [0, 100, 1000])
def test_long_chains_are_exact_in_float32(scale, offset):
    unary = (scale * normal(2, 1000, 16, dtype=torch.float32) + offset).requires_grad_()
    transition = normal(16, 16, seed=1, dtype=torch.float32)
    single, double = LinearChain(unary, transition), LinearChain(unary.double(), transition.double())
    assert (single.marginals - double.marginals).abs().max() < 1e-4
    assert torch.allclose(single.log_partition.double(), double.log_partition, rtol=1e-6)
    assert torch.equal(single.mode, double.mode)
    (gradient,) = grad(single.log_partition.sum(), unary)
    assert torch.allclose(gradient, double.marginals.float(), atol=1e-4)
    assert (single.log_prob(single.mode) <= 0).all()


@pytest.mark.parametrize("magnitude", [1e2, 1e4, 1e6])
def test_hard_transitions_of_any_magnitude(magnitude):
    """Paths far below the best of each step still count when the end needs them."""
    unary, transition = magnitude * normal(2, 5, 3).sign(), magnitude * normal(3, 3, seed=1).round()
    chain = LinearChain(unary, transition)
    for i in range(2):
        table = brute_force.chain(5, unary[i], transition)
        assert torch.allclose(chain.log_partition[i], table.log_partition, rtol=1e-12)
        assert torch.allclose(chain.marginals[i], table.marginals, atol=1e-10)
        assert torch.allclose(chain.entropy()[i], table.entropy(), atol=1e-8)


def test_a_path_that_only_the_end_permits():
    """The best prefix is forbidden at the last step: what is left lies 500 nats below it."""
    unary = torch.zeros(1, 6, 2, dtype=torch.float64)
    unary[..., 0] = 500
    transition = torch.tensor([[0.0, -math.inf], [-math.inf, 0.0]], dtype=torch.float64)
    unary[0, -1, 0] = -math.inf
    chain = LinearChain(unary, transition)
    assert chain.log_partition.item() == 0
    assert chain.marginals[0, :, 1].tolist() == pytest.approx([1] * 6, abs=1e-15)
    assert chain.mode.tolist() == [[1] * 6]
    assert chain.sample((3,)).tolist() == [[[1] * 6]] * 3


def test_long_samples_follow_the_marginals():
    unary, transition = normal(1, 60, 3), normal(3, 3, seed=1)
    chain = LinearChain(unary, transition)
    torch.manual_seed(0)
    frequencies = torch.nn.functional.one_hot(chain.sample((4000,)), 3).double().mean(0)
    errors = (frequencies - chain.marginals) / (chain.marginals * (1 - chain.marginals) / 4000).sqrt()
    assert errors.abs().max() < 5  # 180 standard normal deviations: one in ten thousand right samplers fails


def test_messages_name_the_misfit():
    with pytest.raises(ValueError, match=r"transition.*\(4, 4\).*\(3, 3\)"):
        LinearChain(torch.zeros(2, 5, 3), torch.zeros(4, 4))
    with pytest.raises(ValueError, match=r"transition.*\(2, 3, 3, 3\)"):
        LinearChain(torch.zeros(2, 5, 3), torch.zeros(2, 3, 3, 3))
    with pytest.raises(ValueError, match=r"expected \(3, 3\) or \(4, 3, 3\)$"):
        LinearChain(torch.zeros(5, 3), torch.zeros(4, 4))


def test_the_wider_of_two_types_decides():
    chain = LinearChain(torch.zeros(2, 5, 3), torch.zeros(3, 3).double())
    assert chain.log_partition.dtype == chain.marginals.dtype == torch.float64
