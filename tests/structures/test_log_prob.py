"""`log_prob` of one event for each item: one operation, whose gradient is the parts less the marginals."""

import pytest
import torch
from torch.autograd import grad
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from strukt import InfeasibleError, LinearChain, SpanTree
from strukt.testing.subjects import STRUCTURES

EVERY = [subject for subject in STRUCTURES if not {"log_prob", "sample"} & subject.lacks]


def drawn(subject, batch_shape):
    """A case, its scores as leaves, its distribution, and an event of each item."""
    case = subject.case(batch_shape)
    leaves = tuple(score.clone().requires_grad_() for score in case.scores)
    distribution = subject.make(*leaves, lengths=case.lengths)
    return leaves, distribution, subject.make(*case.scores, lengths=case.lengths).sample()


@pytest.mark.thinned("subject", "batch_shape")
@pytest.mark.parametrize("subject", EVERY, ids=lambda subject: subject.name)
@pytest.mark.parametrize("batch_shape", [(), (3,), (2, 3)])
def test_value_and_gradient_equal_score_less_log_partition(subject, batch_shape):
    leaves, distribution, event = drawn(subject, batch_shape)
    weights = torch.randn(batch_shape, dtype=torch.float64)
    mine = distribution.log_prob(event)
    apart = distribution.score(event) - distribution.log_partition
    torch.testing.assert_close(mine, apart.to(mine.dtype))
    found = grad((mine * weights).sum(), leaves, retain_graph=True, materialize_grads=True)
    again = grad((mine * weights).sum(), leaves, materialize_grads=True)
    expected = grad((apart * weights).sum(), leaves, materialize_grads=True)
    torch.testing.assert_close(found, expected)
    assert all(map(torch.equal, found, again))


@pytest.mark.parametrize("subject", EVERY, ids=lambda subject: subject.name)
def test_several_events_equal_one_by_one(subject):
    leaves, distribution, first = drawn(subject, (3,))
    second = subject.make(*(leaf.detach() for leaf in leaves), lengths=distribution.lengths).sample()
    both = distribution.log_prob(torch.stack([first, second]))
    each = torch.stack([distribution.log_prob(first), distribution.log_prob(second)])
    torch.testing.assert_close(both, each)
    torch.testing.assert_close(
        grad(both.sum(), leaves, materialize_grads=True), grad(each.sum(), leaves, materialize_grads=True)
    )


@pytest.mark.parametrize("n", [0, 1])
def test_sequences_without_a_step(n):
    chain = LinearChain(torch.randn(2, n, 3), torch.randn(3, 3))
    tags = torch.zeros(2, n, dtype=torch.long)
    torch.testing.assert_close(chain.score(tags), chain.scores[0][..., 0].sum(-1))


def test_scores_without_a_gradient_get_none():
    unary, transition = torch.randn(2, 4, 3), torch.randn(3, 3, requires_grad=True)
    chain = LinearChain(unary, transition)
    chain.log_prob(chain.mode).sum().backward()
    assert unary.grad is None
    assert transition.grad.shape == (3, 3)


def test_the_gradient_can_be_mapped_and_differentiated_again():
    spans = torch.randn(2, 4, 4, 2, dtype=torch.float64, requires_grad=True)
    event = SpanTree(spans.detach()).mode
    values = SpanTree(spans).log_prob(event)
    (rows,) = grad(values, spans, torch.eye(2, dtype=torch.float64), is_grads_batched=True, retain_graph=True)
    each = torch.stack([grad(value, spans, retain_graph=True)[0] for value in values])
    torch.testing.assert_close(rows, each)
    assert torch.autograd.gradgradcheck(lambda x: SpanTree(x).log_prob(event), spans)


def test_scores_and_tags_can_be_mapped_over():
    unary, transition = torch.randn(5, 4, 3), torch.randn(3, 3)
    tags = torch.randint(3, (5, 4))
    mapped = torch.func.vmap(lambda u, y: LinearChain(u, transition).log_prob(y))(unary, tags)
    torch.testing.assert_close(mapped, LinearChain(unary, transition).log_prob(tags))
    gradient = torch.func.vmap(torch.func.grad(lambda u, y: LinearChain(u, transition).log_prob(y)))(
        unary, tags
    )
    leaf = unary.clone().requires_grad_()
    torch.testing.assert_close(gradient, grad(LinearChain(leaf, transition).log_prob(tags).sum(), leaf)[0])


class Sizes(TorchDispatchMode):
    """The bytes of the largest tensor that PyTorch makes meanwhile."""

    largest = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        tensors = [leaf for leaf in tree_leaves(result) if isinstance(leaf, torch.Tensor)]
        self.largest = max([self.largest, *(tensor.nbytes for tensor in tensors)])
        return result


def test_a_matrix_that_all_share_is_not_repeated_for_each_step():
    unary, transition = torch.randn(4, 50, 64, requires_grad=True), torch.randn(64, 64, requires_grad=True)
    tags = torch.randint(64, (4, 50))
    value = LinearChain(unary, transition).log_prob(tags).sum()
    with Sizes() as sizes:
        grad(value, (unary, transition))
    assert sizes.largest < 10 * (
        unary.nbytes + transition.nbytes
    )  # a matrix for each step takes 120 times that


def test_a_mode_of_what_is_infeasible_still_raises():
    unary = torch.full((1, 2, 2), -torch.inf, requires_grad=True)
    chain = LinearChain(unary, torch.zeros(2, 2))
    with pytest.raises(InfeasibleError):
        _ = chain.mode
    assert chain.log_prob(torch.zeros(1, 2, dtype=torch.long)) == -torch.inf
