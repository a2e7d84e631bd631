"""The k best structures as a pair with names, and their probabilities."""

import copy
import pickle

import pytest
import torch

import strukt
from strukt.structures.topk import TopK
from strukt.testing.subjects import STRUCTURES

TRANSITION = torch.tensor([[0.5, -1.0, 0.0], [0.0, 1.0, -0.5], [0.3, 0.2, 0.1]], dtype=torch.float64)

OF_PYTORCH = pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")
"""What the compiler of PyTorch does itself where nothing needs a gradient."""


def chain(*batch):
    generator = torch.Generator().manual_seed(len(batch))
    return strukt.LinearChain(torch.randn(*batch, 4, 3, generator=generator, dtype=torch.float64), TRANSITION)


def test_it_is_a_pair_with_names():
    best = chain().topk(3)
    scores, events = best
    assert scores is best.scores is best[0]
    assert events is best.events is best[1]
    assert isinstance(best, tuple)
    assert len(best) == 2


def test_an_item_without_structures_has_probability_0_and_no_gradient():
    unary = torch.zeros(2, 3, 2)
    unary[1, 0] = -torch.inf
    unary.requires_grad_()
    best = strukt.LinearChain(unary, torch.zeros(2, 2)).topk(2)
    assert best.probs[1].tolist() == [0.0, 0.0]
    (gradient,) = torch.autograd.grad(best.probs[:, 0].sum(), unary)
    assert (gradient[1] == 0).all()
    assert gradient[0].abs().sum() > 0


def test_probabilities_have_the_gradient_of_log_prob():
    unary = torch.randn(2, 4, 3, dtype=torch.float64, requires_grad=True)
    distribution = strukt.LinearChain(unary, TRANSITION)
    best = distribution.topk(2)
    (mine,) = torch.autograd.grad(best.log_probs.sum(), unary, retain_graph=True)
    (theirs,) = torch.autograd.grad(distribution.log_prob(best.events.movedim(1, 0)).sum(), unary)
    torch.testing.assert_close(mine, theirs)


def test_only_probabilities_need_a_log_partition():
    best = strukt.Matching(torch.randn(20, 20)).topk(2)
    assert best.scores.shape == (2,)
    with pytest.raises(NotImplementedError, match="#P-complete"):
        _ = best.probs


def test_they_pass_through_vmap():
    best = chain(5).topk(3)
    mapped = torch.vmap(lambda unary: strukt.LinearChain(unary, TRANSITION).topk(3))(chain(5).scores[0])
    assert isinstance(mapped, TopK)
    assert torch.equal(mapped.events, best.events)
    torch.testing.assert_close(mapped.probs, best.probs)


def test_those_without_probabilities_pass_through_vmap_too():
    mapped = torch.vmap(lambda scores: strukt.Matching(scores).topk(2))(torch.randn(3, 20, 20))
    assert mapped.scores.shape == (3, 2)
    with pytest.raises(NotImplementedError, match="#P-complete"):
        _ = mapped.log_probs


@OF_PYTORCH
@pytest.mark.parametrize("needs_gradient", [False, True])
def test_they_are_returned_by_compiled_functions(needs_gradient):
    unary = chain(2).scores[0].clone().requires_grad_(needs_gradient)
    torch.compiler.reset()
    compiled = torch.compile(
        lambda unary: strukt.LinearChain(unary, TRANSITION).topk(2), backend="aot_eager", fullgraph=True
    )
    best, expected = compiled(unary), chain(2).topk(2)
    assert isinstance(best, TopK)
    assert torch.equal(best.events, expected.events)
    torch.testing.assert_close(best.probs, expected.probs)
    assert best.probs.requires_grad == needs_gradient


def test_copies_and_pickles_keep_the_probabilities():
    best = chain(2).topk(2)
    for other in (copy.copy(best), copy.deepcopy(best), pickle.loads(pickle.dumps(best))):
        assert torch.equal(other.probs, best.probs)


@pytest.mark.parametrize("name", ["score", "log_prob"])
def test_events_of_topk_are_not_those_of_samples(name):
    distribution = chain(2, 3)
    events = distribution.topk(4).events
    with pytest.raises(
        ValueError, match=r"\(2, 3, 4, 4\).*`topk` .* returns; write event\.movedim\(2, 0\).*log_probs"
    ):
        getattr(distribution, name)(events)
    assert getattr(distribution, name)(events.movedim(2, 0)).shape == (4, 2, 3)


@pytest.mark.parametrize("name", ["score", "log_prob", "to_parts"])
@pytest.mark.parametrize("drawn", [lambda d: d.topk(3).events, lambda d: d.sample_without_replacement(3)])
def test_as_many_events_as_items_are_none_of_samples(name, drawn):
    """Their shape is that of three samples."""
    distribution = chain(3)
    events = drawn(distribution)
    with pytest.raises(ValueError, match=r"write event\.movedim\(1, 0\)"):
        getattr(distribution, name)(events)
    assert getattr(distribution, name)(events.movedim(1, 0)).shape[:2] == (3, 3)


def test_other_wrong_shapes_name_no_movedim():
    with pytest.raises(ValueError, match=r"batch_shape \+ event_shape = \(2, 4\)$"):
        chain(2).score(torch.zeros(3, 5, 4, dtype=torch.long))


@OF_PYTORCH
@pytest.mark.parametrize("question", ["mode", "log_partition", "marginals"])
def test_compiled_functions_need_no_gradient(question):
    """PyTorch calls an operator without its gradient in another way."""
    subject = STRUCTURES[0]
    case = subject.case((2,))
    torch.compiler.reset()
    compiled = torch.compile(
        lambda *scores: getattr(subject.make(*scores), question), backend="aot_eager", fullgraph=True
    )
    expected = getattr(subject.make(*case.scores), question)
    torch.testing.assert_close(compiled(*case.scores), expected)
