"""What only a linear chain has: transitions, and long sequences."""

import math

import pytest
import torch
from tests.scores import normal
from torch.autograd import gradcheck, gradgradcheck

from strukt.distributions import LinearChain
from strukt.testing import brute_force

KINDS = {"shared": (2, 2), "per item": (4, 2, 2), "per step": (4, 3, 2, 2)}
LENGTHS = torch.tensor([4, 0, 1, 3])


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
