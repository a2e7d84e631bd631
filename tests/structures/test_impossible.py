"""Training on an event of probability 0 is said, once, with the item and what forbids it."""

import warnings

import pytest
import torch

from strukt import LinearChain, NonProjectiveTree
from strukt.nn import CRF, bio_constraints
from strukt.structures import impossible

TAGS = ["O", "B-X", "I-X"]


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch):
    monkeypatch.setattr(impossible, "_said", False)


def said(distribution, event):
    """The warnings of two questions."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        distribution.log_prob(event)
        distribution.log_prob(event)
    return [str(warning.message) for warning in found]


def test_the_item_and_the_pair_of_tags_are_named_once():
    chain = CRF(3, bio_constraints(TAGS))(torch.randn(2, 4, 3), [4, 3])
    [message] = said(chain, torch.tensor([[0, 1, 2, 0], [1, 0, 2, -1]]))
    assert message.startswith("the event of batch item 1 has probability 0: transition[0, 2] is -inf for tag 2 ")
    assert "at position 2 after tag 0; a mean loss with it is infinite" in message
    assert said(chain, torch.tensor([[2, 1, 2, 0], [1, 0, 2, -1]])) == []


def test_a_tag_that_may_not_begin_is_named():
    chain = CRF(3, bio_constraints(TAGS))(torch.randn(2, 4, 3))
    [message] = said(chain, torch.tensor([[2, 2, 2, 0], [1, 0, 0, 0]]))
    assert "batch item 0 has probability 0: unary" in message
    assert "-inf" in message


def test_samples_of_items_and_transitions_of_steps():
    transition = torch.zeros(2, 3, 3, 3)
    transition[1, 2, 0, 0] = -torch.inf
    chain = LinearChain(torch.zeros(2, 4, 3, requires_grad=True), transition)
    events = torch.ones(5, 2, 4, dtype=torch.long)
    events[3, 1, 2:] = 0
    [message] = said(chain, events)
    assert "sample 3, batch item 1 has probability 0" in message
    assert "tag 0 at position 3 after tag 0" in message


def test_other_structures_say_it_too():
    arcs = torch.zeros(2, 3, 4)
    arcs[1, 0, 2] = -torch.inf
    trees = NonProjectiveTree(arcs.requires_grad_(), labelled=False)
    [message] = said(trees, torch.tensor([[2, 0, 2], [2, 0, 2]]))
    assert "batch item 1 has probability 0: arcs[0, 2] is -inf" in message


def test_without_a_gradient_an_impossible_event_is_an_answer():
    crf = CRF(3, bio_constraints(TAGS))
    with torch.no_grad():
        chain = crf(torch.randn(1, 2, 3))
        assert said(chain, torch.tensor([[0, 2]])) == []
    assert said(crf(torch.randn(1, 2, 3)), torch.tensor([[1, 2]])) == []


def test_nothing_is_said_where_values_are_hidden():
    chain = CRF(3, bio_constraints(TAGS))(torch.randn(1, 2, 3))
    unary, transition = chain.scores[0].detach(), chain.scores[1].detach()[0, 0]

    def loss(scores):
        return LinearChain(scores, transition).log_prob(torch.tensor([0, 2]))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.func.vmap(torch.func.grad(loss))(unary)


def test_known_parts_that_no_structure_has_are_said_once():
    chain = CRF(3, bio_constraints(TAGS))(torch.randn(2, 4, 3))
    event = torch.tensor([[0, 1, 2, 0], [0, 2, 0, 0]])
    known = torch.tensor([True, True, False, False]).expand(2, 4)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        assert chain.partial_log_prob(event, known)[1] == -torch.inf
        chain.partial_log_prob(event, known)
    [warning] = found
    assert str(warning.message).startswith("no structure agrees with what is known of batch item 1; a mean loss ")


def test_where_no_gradient_is_taken_impossible_parts_are_no_fault():
    chain = LinearChain(torch.zeros(1, 2, 2), torch.tensor([[0.0, -torch.inf], [0.0, 0.0]]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert chain.partial_log_prob(torch.tensor([[0, 1]]), torch.ones(1, 2, dtype=torch.bool)) == -torch.inf
