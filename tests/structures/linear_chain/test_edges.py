"""Chains at the edge: unreachable tags, products of small weights, single words, wrong questions."""

import pytest
import torch
from tests.backends import assert_kernels_answer_as_the_reference, log_partition_and_gradient

from strukt.distributions import LinearChain
from strukt.kernels import dispatch


@pytest.mark.parametrize("transition_shape", [(), (2,), (2, 99)])
@pytest.mark.parametrize("drop", [10.0, 50.0, 300.0])
def test_tags_that_nothing_reaches_send_nothing_back(transition_shape, drop, on):
    """A forbidden first tag leads to a strand of high scores, whose backward values grow without bound."""
    unary = torch.zeros(2, 100, 2, dtype=torch.float64)
    unary[0, 0, 1] = -torch.inf
    unary[1] = torch.randn(100, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    transition = torch.tensor([[-drop, -torch.inf], [-torch.inf, 0.0]], dtype=torch.float64)
    scores = unary, transition.repeat(*transition_shape, 1, 1)
    assert_kernels_answer_as_the_reference(on, lambda: log_partition_and_gradient(LinearChain, *scores), 1e-10)


@pytest.mark.parametrize("groups", [1, 2, 3])
def test_items_of_a_group_that_nothing_reaches_have_its_transitions(groups, on):
    """As `torch.func.vmap` makes groups; some of their items are answered again by the table."""
    generator = torch.Generator().manual_seed(0)
    unary = torch.randn(6, 50, 2, generator=generator, dtype=torch.float64)
    unary[[0, 3, 4], 0, 1] = -torch.inf
    transition = torch.full((groups, 1, 2, 2), -torch.inf, dtype=torch.float64)
    transition[..., 0, 0] = -torch.tensor([40.0, 70.0, 90.0], dtype=torch.float64)[:groups, None]
    transition[..., 1, 1] = torch.tensor([0.0, 0.5, 1.0], dtype=torch.float64)[:groups, None]
    given = unary, transition, torch.tensor([50, 50, 3, 50, 40, 50])
    oracles = LinearChain.oracles
    assert_kernels_answer_as_the_reference(
        on, lambda: (oracles.log_partition(*given), *oracles.marginals(*given)), 1e-9
    )


def test_normalisers_are_multiplied_only_while_they_are_normal(on):
    """Forced through weights just above what probability space accepts, at each of many steps."""
    generator = torch.Generator().manual_seed(0)
    choices = torch.tensor([0.0, -225.0, -torch.inf], dtype=torch.float64)
    unary = choices[torch.randint(3, (300, 5, 4), generator=generator)]
    transition = choices[torch.randint(3, (300, 4, 4), generator=generator)]

    def answers():
        chain = LinearChain(unary, transition)
        return chain.log_partition, chain.marginals

    assert_kernels_answer_as_the_reference(on, answers, 1e-10)


def test_normalisers_are_multiplied_only_where_the_product_is_normal():
    """One path, through weights just above what probability space accepts: one, then three at one step."""
    no, low = -torch.inf, -225.0
    unary = torch.zeros(4, 3, dtype=torch.float64)
    unary[0, 1:], unary[3, 1] = no, low
    transition = torch.tensor(
        [
            [[low, no, no], [no, no, 0.0], [no, no, 0.0]],
            [[0.0, low, no], [no, no, 0.0], [no, no, 0.0]],
            [[no, no, no], [no, low, no], [no, no, 0.0]],
        ],
        dtype=torch.float64,
    )
    chain = LinearChain(unary, transition)
    assert torch.allclose(chain.log_partition, torch.tensor(4 * low, dtype=torch.float64), rtol=1e-12)
    assert chain.mode.tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("batch", [(), (3,)])
def test_one_word_and_transitions_of_no_step(batch):
    unary = torch.zeros(*batch, 1, 2, requires_grad=True)
    chain = LinearChain(unary, torch.zeros(*(1 for _ in batch), 0, 2, 2))
    assert torch.equal(chain.marginals, torch.full((*batch, 1, 2), 0.5))
    assert torch.autograd.grad(chain.log_partition.sum(), unary)[0].sum() == chain.lengths.sum()


def test_no_tags_are_refused():
    with pytest.raises(ValueError, match="no tags to choose from"):
        LinearChain(torch.zeros(3, 0), torch.zeros(0, 0))


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda d: d.condition(forbidden=[True]), "forbidden is a list"),
        (lambda d: d.expectation(1.0), "values is a float"),
        (lambda d: d.topk(2.0), r"k is 2\.0; expected a positive integer"),
        (lambda d: d.sparsemap(max_iterations=0), "max_iterations is 0"),
    ],
)
def test_questions_of_a_wrong_type_are_refused(ask, message):
    with pytest.raises(ValueError, match=message):
        ask(LinearChain(torch.zeros(3, 2), torch.zeros(2, 2)))


def test_events_of_small_integers_are_scored():
    chain = LinearChain(torch.eye(2).repeat(2, 1), torch.zeros(2, 2))
    tags = torch.tensor([0, 1, 1, 1])
    assert chain.log_prob(tags.to(torch.uint8)) == chain.log_prob(tags)


@pytest.mark.filterwarnings("ignore:.*torch.jit.script. is deprecated:DeprecationWarning")  # PyTorch's own
@pytest.mark.parametrize("question", ["entropy", "cross_entropy"])
def test_forward_mode_gives_each_item_its_own_change_of_what_all_share(question):
    generator = torch.Generator().manual_seed(0)
    unary, step = (torch.randn(3, 4, 2, dtype=torch.float64, generator=generator) for _ in range(2))
    transition, turn = (torch.randn(2, 2, dtype=torch.float64, generator=generator) for _ in range(2))
    other = LinearChain(unary.flip(0), transition.mT)

    def ask(unary, transition):
        chain = LinearChain(unary, transition)
        return chain.entropy() if question == "entropy" else chain.cross_entropy(other)

    for backend in ("cpu", "reference"):
        with dispatch.using(backend):
            _, found = torch.func.jvp(ask, (unary, transition), (step, turn))
            by_unary, by_transition = torch.func.jacrev(ask, (0, 1))(unary, transition)
        expected = (by_unary * step).flatten(1).sum(1) + (by_transition * turn).flatten(1).sum(1)
        assert torch.allclose(found, expected, atol=1e-12)
