"""Questions that are asked twice are answered once, unless somebody could tell."""

import pytest
import torch

from strukt import LinearChain, NonProjectiveTree, SpanTree

QUESTIONS = ("log_partition", "marginals", "mbr", "log_count")


def chain(**options):
    return LinearChain(torch.randn(2, 5, 3, **options), torch.randn(3, 3))


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_second_answer_is_the_first(name):
    for distribution in (chain(), NonProjectiveTree(torch.randn(2, 4, 5)), SpanTree(torch.randn(1, 4, 4, 2))):
        assert getattr(distribution, name) is getattr(distribution, name)


@pytest.mark.parametrize("name", [*QUESTIONS, "mode", "max_score"])
def test_changes_in_place_are_seen(name):
    unary = torch.randn(2, 5, 3)
    distribution = LinearChain(unary, torch.randn(3, 3))
    before = getattr(distribution, name).clone()
    getattr(distribution, name).zero_()
    assert torch.equal(getattr(distribution, name), before)
    unary[:, :, 0] += 100.0
    fresh = LinearChain(unary, distribution.scores[1].squeeze())
    torch.testing.assert_close(getattr(distribution, name), getattr(fresh, name))
    if name != "log_count":
        assert not torch.equal(getattr(distribution, name), before)


def test_the_mode_is_searched_once():
    distribution = chain()
    assert distribution._best()[0] is distribution._best()[0]


def test_every_answer_with_a_gradient_has_a_graph_of_its_own():
    distribution = chain(requires_grad=True)
    first, second = distribution.log_partition, distribution.log_partition
    assert first is not second
    first.sum().backward()
    second.sum().backward()
    with torch.no_grad():
        assert not distribution.log_partition.requires_grad
    assert distribution.log_partition.requires_grad
    distribution.log_partition.sum().backward()


def test_parameters_that_are_trained_change_the_answers():
    transition = torch.nn.Parameter(torch.randn(3, 3))
    distribution = LinearChain(torch.randn(1, 4, 3), transition)
    with torch.no_grad():
        before = distribution.log_partition
    distribution.log_partition.sum().backward()
    torch.optim.SGD([transition], lr=0.5).step()
    with torch.no_grad():
        assert not torch.equal(distribution.log_partition, before)


def test_inference_mode_and_transforms():
    with torch.inference_mode():
        distribution = chain()
        torch.testing.assert_close(distribution.log_partition, distribution.log_partition)
    unary = torch.randn(4, 3, 2)
    mapped = torch.func.vmap(lambda u: LinearChain(u, torch.zeros(2, 2)).marginals)(unary)
    torch.testing.assert_close(mapped, LinearChain(unary, torch.zeros(2, 2)).marginals)


def test_an_expanded_distribution_answers_for_itself():
    distribution = chain()
    assert distribution.log_partition.shape == (2,)
    assert distribution.expand((3, 2)).log_partition.shape == (3, 2)
