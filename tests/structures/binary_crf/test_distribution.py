"""Binary CRFs: known counts and partition functions, what is ignored, conditions, the limit of enumeration."""

import math

import pytest
import torch
from tests.scores import normal
from torch.distributions import kl_divergence

from strukt import BinaryCRF, InfeasibleError, LinearChain


def pairs(n: int, value: float, ring: bool = False) -> torch.Tensor:
    """A value for each pair of neighbours on a line or a ring."""
    matrix = torch.zeros(n, n, dtype=torch.float64)
    index = torch.arange(n if ring else n - 1)
    matrix[index, (index + 1) % n] = matrix[(index + 1) % n, index] = value
    return matrix


def zeros(n: int) -> torch.Tensor:
    return torch.zeros(n, dtype=torch.float64)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 19, 20])
def test_the_number_of_vectors_is_a_power_of_two(n):
    assert BinaryCRF(torch.zeros(n), torch.zeros(n, n)).log_count.item() == pytest.approx(n * math.log(2))


@pytest.mark.parametrize(("n", "count"), [(1, 2), (2, 3), (3, 5), (4, 8), (5, 13), (10, 144), (17, 4181)])
def test_excluded_neighbours_on_a_line_leave_fibonacci_numbers(n, count):
    crf = BinaryCRF(zeros(n), pairs(n, -math.inf))
    assert crf.log_partition.exp().item() == pytest.approx(count)
    both = crf.pairwise_marginals
    assert (both[pairs(n, -math.inf) == -math.inf] == 0).all()


def test_a_line_is_a_linear_chain():
    n, couplings = 12, normal(11)
    pairwise = torch.diag(couplings, 1) + torch.diag(couplings, -1)
    unary = normal(n, seed=1)
    transition = torch.zeros(n - 1, 2, 2, dtype=torch.float64)
    transition[:, 1, 1] = couplings
    chain = LinearChain(torch.stack([zeros(n), unary], -1), transition)
    crf = BinaryCRF(unary, pairwise)
    assert torch.allclose(crf.log_partition, chain.log_partition)
    assert torch.allclose(crf.marginals, chain.marginals[:, 1])
    assert torch.allclose(crf.entropy(), chain.entropy())
    assert torch.equal(crf.mode, chain.mode)
    assert torch.allclose(crf.topk(9)[0], chain.topk(9)[0])
    assert torch.allclose(crf.max_marginals, chain.max_marginals[:, 1])
    assert torch.allclose(crf.pairwise_marginals.diagonal(1), chain.transition_marginals[:, 1, 1])


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_pairwise_marginals_are_second_moments(n):
    given = normal(n, n)
    crf = BinaryCRF(normal(n, seed=1), given + given.mT)
    events = crf.enumerate_support()
    weights = crf.log_prob(events).exp()
    expected = torch.einsum("s,si,sj->ij", weights, events.double(), events.double())
    assert torch.allclose(crf.pairwise_marginals, expected)
    assert torch.allclose(crf.pairwise_marginals.diagonal(), crf.marginals)


def test_pairwise_marginals_of_shared_pairs_and_lengths():
    unary, shared = normal(2, 3, 4), normal(4, 4, seed=1)
    lengths = torch.tensor([[4, 0, 2], [1, 3, 4]])
    together = BinaryCRF(unary, shared, lengths).pairwise_marginals
    assert together.shape == (2, 3, 4, 4)
    for index in ((0, 0), (0, 2), (1, 1)):
        n = int(lengths[index])
        alone = BinaryCRF(unary[index][:n], shared[:n, :n]).pairwise_marginals
        assert torch.allclose(together[index][:n, :n], alone)
        assert (together[index][n:] == 0).all()


def test_only_the_mean_of_both_entries_counts_and_no_diagonal():
    unary, pairwise = normal(5), normal(5, 5, seed=1)
    symmetric = (0.5 * (pairwise + pairwise.mT)).fill_diagonal_(0.0)
    one, other = BinaryCRF(unary, pairwise), BinaryCRF(unary, symmetric)
    event = torch.tensor([1, 0, 1, 1, 0])
    assert torch.allclose(one.log_partition, other.log_partition)
    assert torch.allclose(one.score(event), other.score(event))
    assert torch.allclose(one.belief_propagation().log_partition, other.belief_propagation().log_partition)
    assert torch.allclose(one.mean_field().lower_bound, other.mean_field().lower_bound)


@pytest.mark.parametrize("member", [lambda d: d.log_partition, lambda d: d.score(torch.ones(3).long())])
def test_the_gradient_in_each_entry_is_half_of_the_pair(member):
    unary, pairwise = normal(3), normal(3, 3, seed=1)
    leaf = (pairwise + pairwise.mT).requires_grad_()
    crf = BinaryCRF(unary, leaf)
    (gradient,) = torch.autograd.grad(member(crf), leaf)
    assert torch.equal(gradient, gradient.mT)
    assert (gradient.diagonal() == 0).all()
    if member(crf) == crf.log_partition:
        assert torch.allclose(2 * gradient, crf.pairwise_marginals.detach().fill_diagonal_(0))
    else:
        assert torch.equal(2 * gradient, 1 - torch.eye(3, dtype=torch.float64))


def test_forbidden_ones_meet_any_pair_without_nan():
    unary = torch.tensor([-math.inf, 1.0, 2.0], requires_grad=True)
    pairwise = torch.tensor([[0.0, 5.0, -math.inf], [5.0, 0.0, -math.inf], [-math.inf, -math.inf, 0.0]])
    crf = BinaryCRF(unary, pairwise)
    assert crf.log_partition.item() == pytest.approx(math.log(1 + math.e + math.e**2))
    assert crf.mode.tolist() == [0, 0, 1]
    assert crf.score(torch.tensor([0, 1, 1])) == -math.inf
    assert crf.score(torch.tensor([0, 1, 0])) == 1
    (gradient,) = torch.autograd.grad(crf.log_partition, unary)
    assert gradient[0] == 0
    assert gradient.isfinite().all()


def test_a_condition_is_bayes_rule():
    given = normal(6, 6)
    crf = BinaryCRF(normal(6, seed=1), given + given.mT)
    required, forbidden = torch.eye(6, dtype=torch.bool)[[1, 4]]
    conditioned = crf.condition(required, forbidden)
    observed = crf.partial_log_prob(torch.tensor([0, 1, 0, 0, 0, 0]), required | forbidden)
    assert torch.allclose(crf.log_partition + observed, conditioned.log_partition)
    assert torch.allclose(kl_divergence(conditioned, crf), -observed)
    assert kl_divergence(crf, conditioned) == math.inf
    assert conditioned.marginals[1] == 1
    assert conditioned.marginals[4] == 0
    assert conditioned.mbr[1] == 1


def test_what_is_required_and_forbidden_at_once_leaves_nothing():
    crf = BinaryCRF(torch.zeros(2, 3), torch.zeros(3, 3))
    mask = torch.tensor([[False, False, False], [False, True, False]])
    lost = crf.condition(mask, mask)
    assert lost.log_partition[1] == -math.inf
    assert (lost.marginals[1] == 0).all()
    with pytest.raises(InfeasibleError, match="batch item 1"):
        lost.sample()


def test_requirements_beyond_the_length_are_ignored():
    crf = BinaryCRF(torch.zeros(2, 3), torch.zeros(3, 3), torch.tensor([3, 1]))
    given = crf.condition(required=torch.tensor([False, False, True]).expand(2, 3))
    assert torch.allclose(given.log_count.exp(), torch.tensor([4.0, 2.0]))
    assert given.mode[1].tolist()[1:] == [-1, -1]


def test_many_variables_can_be_scored_but_not_summed():
    crf = BinaryCRF(torch.ones(21), torch.ones(21, 21) - torch.eye(21))
    assert crf.score(torch.ones(21).long()) == 21 + 210
    for member in ("log_partition", "marginals", "mode", "max_marginals", "log_count"):
        with pytest.raises(NotImplementedError, match=r"n = 21 .* mean_field\(.*belief_propagation\("):
            getattr(crf, member)
    for method in (crf.entropy, crf.sample, lambda: crf.topk(2), crf.sparsemap):
        with pytest.raises(NotImplementedError, match="use mean_field"):
            method()


@pytest.mark.parametrize("shape", [(4, 4), (3, 4), (2, 3, 3, 3), (3, 3, 3), (5, 3, 3)])
def test_pairs_that_do_not_fit_are_refused(shape):
    with pytest.raises(ValueError, match=r"pairwise has shape .* expected \(2, 3, 3\) or \(3, 3\)"):
        BinaryCRF(torch.zeros(2, 3), torch.zeros(shape))
    with pytest.raises(ValueError, match=r"expected \(3, 3\)$"):
        BinaryCRF(torch.zeros(3), torch.zeros(shape))


def test_events_other_than_zero_and_one_are_refused():
    crf = BinaryCRF(torch.zeros(2), torch.zeros(2, 2))
    with pytest.raises(ValueError, match=r"the event .* is not a structure"):
        crf.log_prob(torch.tensor([2, 0]))
    with pytest.raises(ValueError, match="not made of 0 and 1"):
        crf.to_parts(torch.tensor([-1, 0]))
    with pytest.raises(ValueError, match="too many to enumerate"):
        BinaryCRF(torch.zeros(21), torch.zeros(21, 21)).enumerate_support()


@pytest.mark.parametrize("n", [16, 19])
def test_single_precision_over_many_states(n):
    given = normal(n, n)
    double = BinaryCRF(normal(n, seed=1), 0.3 * (given + given.mT))
    single = BinaryCRF(*(score.float() for score in double.scores[:2]))
    assert torch.allclose(single.log_partition.double(), double.log_partition, atol=1e-4)
    assert torch.allclose(single.marginals.double(), double.marginals, atol=1e-5)
    assert torch.allclose(single.entropy().double(), double.entropy(), atol=1e-4)


def test_samples_of_many_states_have_the_right_means():
    given = normal(14, 14)
    crf = BinaryCRF(normal(14, seed=1), 0.2 * (given + given.mT))
    torch.manual_seed(0)
    draws = crf.sample((4000,)).double()
    assert torch.allclose(draws.mean(0), crf.marginals, atol=0.04)
    moments = draws.T @ draws / len(draws)
    assert torch.allclose(moments, crf.pairwise_marginals, atol=0.04)
