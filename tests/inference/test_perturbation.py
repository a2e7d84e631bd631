"""Random structures: by perturbed scores, without replacement; and what is refused."""

import pytest
import torch

from strukt.distributions import BitSpanTree, LinearChain, NonProjectiveTree, SpanTree
from strukt.errors import InfeasibleError


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_perturbed_modes_of_one_word_are_exact_samples():
    """With a single part, perturb-and-MAP is the Gumbel-max trick."""
    chain = LinearChain(normal(1, 4), torch.zeros(4, 4, dtype=torch.float64))
    torch.manual_seed(0)
    counts = torch.bincount(chain.perturb_and_map((20000,)).flatten(), minlength=4)
    assert torch.allclose(counts / 20000, chain.marginals[0].float(), atol=0.01)


def test_relaxed_samples_lie_in_the_polytope():
    chain = LinearChain(normal(3, 5, 4), normal(4, 4), torch.tensor([5, 2, 0]))
    relaxed = chain.rsample_relaxed(0.7, (6,))
    assert relaxed.shape == (6, 3, 5, 4)
    totals = relaxed.sum(-1)
    within = torch.arange(5) < chain.lengths.unsqueeze(-1)
    assert torch.allclose(totals, within.double().expand_as(totals))


def test_implicit_gradients_move_scores_towards_what_is_wanted():
    """Learn the scores of one tree from a loss on its parts."""
    arcs = torch.zeros(6, 7, dtype=torch.float64, requires_grad=True)
    wanted = torch.tensor([2, 0, 2, 3, 4, 2])
    torch.manual_seed(0)
    for _ in range(60):
        trees = NonProjectiveTree(arcs)
        loss = (trees.rsample_implicit(5.0, (4,)) - trees.to_parts(wanted)).square().sum()
        (gradient,) = torch.autograd.grad(loss, arcs)
        arcs = (arcs - 0.5 * gradient).detach().requires_grad_()
    assert torch.equal(NonProjectiveTree(arcs).mode, wanted)


def test_distinct_samples_are_distinct_on_a_peaked_distribution():
    """Independent samples would take e^30 draws to find a second structure."""
    unary = normal(20, 5)
    unary[:, 0] += 30
    chain = LinearChain(unary, normal(5, 5))
    torch.manual_seed(0)
    events = chain.sample_without_replacement(12)
    assert len(torch.unique(events, dim=0)) == 12
    assert (chain.score(events) > -torch.inf).all()


def test_distinct_samples_of_all_trees():
    trees = SpanTree(normal(2, 6, 6), torch.tensor([5, 4]), labelled=False)
    events = trees.sample_without_replacement(20)
    assert events.shape == (2, 20, 6, 6)
    assert len(torch.unique(events[0, :14], dim=0)) == 14  # the Catalan number of 4
    assert (events[0, 14:] == -1).all()
    assert len(torch.unique(events[1, :5], dim=0)) == 5
    assert (events[1, 5:] == -1).all()


def test_shared_transitions_that_forbid():
    transition = torch.tensor([[0.0, -torch.inf], [-torch.inf, 0.0]], dtype=torch.float64)
    events = LinearChain(normal(3, 4, 2), transition).sample_without_replacement(3)
    assert (events[:, :2].sum(-1).sort(-1).values == torch.tensor([0, 4])).all()
    assert (events[:, 2] == -1).all()


def test_nothing_to_sample():
    unary = normal(2, 3, 2)
    unary[1, 2] = -torch.inf
    with pytest.raises(InfeasibleError, match="item 1"):
        LinearChain(unary, torch.zeros(2, 2)).sample_without_replacement(2)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda chain: chain.rsample_relaxed(0.0), "temperature is 0.0; expected a number above 0"),
        (lambda chain: chain.rsample_implicit(-1.0), "step is -1.0; expected a number above 0"),
        (lambda chain: chain.rsample_relaxed(torch.inf), "temperature is inf; .* finite"),
        (lambda chain: chain.mode_parts("perceptron", torch.inf), "step is inf; .* finite"),
        (lambda chain: chain.sample_without_replacement(0), "k is 0; expected a positive integer"),
        (lambda chain: chain.sample_without_replacement(2.0), "k is 2.0; expected a positive integer"),
    ],
)
def test_wrong_arguments_are_refused(ask, message):
    with pytest.raises(ValueError, match=message):
        ask(LinearChain(normal(3, 2), normal(2, 2)))


def test_codes_are_not_separated_by_their_parts():
    with pytest.raises(NotImplementedError, match="keep the distinct ones"):
        BitSpanTree(torch.zeros(3, 3, 2)).sample_without_replacement(2)
