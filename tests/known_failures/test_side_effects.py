"""Asking a question changes nothing: neither the scores, nor the grad mode, nor another distribution."""

from functools import partial

import pytest
import torch
from tests.further import OF_COMMON_CODE, SUBJECTS
from tests.known_failures.everything import members, normal
from torch.autograd import grad

from strukt.distributions import CTC, KSubset, LinearChain, NonProjectiveTree, ProjectiveTree, SpanTree
from strukt.testing.operators import random_arguments, smooth_operators

ARCS, ONE = normal(4, 5), torch.tensor(1)


@OF_COMMON_CODE
def test_every_member_leaves_scores_lengths_and_constants_alone(subject):
    """Decoders elsewhere write -1e32 into the caller's scores, or call `requires_grad_` on them."""
    case = subject.case((3,))
    asked, distribution = random_arguments(case), case.distribution()
    tensors = [*case.scores, case.lengths, *distribution.constants]
    before = [tensor.clone() for tensor in tensors]
    for name, of in members(case).items():
        of(distribution, asked)
        for tensor, copy in zip(tensors, before, strict=True):
            assert torch.equal(tensor, copy), name
            assert not tensor.requires_grad, name


@pytest.mark.thinned("subject", "mode")
@OF_COMMON_CODE
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_every_member_works_without_a_graph(subject, mode):
    """A lazy property that switches gradients on keeps the whole graph; decoding by gradient raises."""
    case = subject.case((3,)).leaves()
    asked = random_arguments(case)
    for name, of in members(case).items():
        expected = of(case.distribution(), asked).detach()
        with mode():
            found = of(case.distribution(), asked)
            assert not torch.is_grad_enabled(), name
        assert not found.requires_grad, name
        assert torch.allclose(found.to(expected.dtype), expected, equal_nan=True), name


SETTINGS = {
    "roots of projective trees": (
        partial(ProjectiveTree, ARCS),
        {"single_root": False},
        {"single_root": True},
    ),
    "roots of trees": (partial(NonProjectiveTree, ARCS), {"single_root": False}, {"single_root": True}),
    "labels": (
        partial(SpanTree, torch.zeros(3, 3, 3)),
        {"labelled": True},
        {"lengths": ONE, "labelled": True},
    ),
    "blank": (partial(CTC, torch.zeros(4, 3), ONE.reshape(1)), {"blank": 0}, {"blank": 2}),
    "size": (partial(KSubset, ARCS[0]), {"k": 2}, {"k": (0, 3)}),
    "steps": (
        partial(LinearChain, ARCS[:3, :2]),
        {"transition": ARCS[:2, :2]},
        {"transition": ARCS[:2, :4].reshape(2, 2, 2)},
    ),
}


@pytest.mark.parametrize(("make", "one", "other"), SETTINGS.values(), ids=SETTINGS)
def test_settings_of_one_distribution_stay_its_own(make, one, other):
    """A flag kept on the class: building a multi-root tree changes the single-root tree built before it."""
    first = make(**one)
    before = first.log_partition
    second = make(**other)
    alone = second.log_partition
    assert torch.equal(first.log_partition, before)
    assert torch.equal(make(**one).log_partition, before)
    assert torch.equal(second.log_partition, alone)


@SUBJECTS
def test_gradients_may_be_asked_for_twice(subject):
    """A backward pass that writes into the chart it was given is wrong the second time."""
    case = subject.case((3,)).leaves()
    asked = random_arguments(case)
    for operator in smooth_operators(case):
        value = operator.of(case.distribution(), asked).sum()
        first = grad(value, case.scores, retain_graph=True, materialize_grads=True)
        again = grad(value, case.scores, materialize_grads=True)
        for one, two in zip(first, again, strict=True):
            assert torch.equal(one, two), operator.name


@SUBJECTS
def test_what_is_computed_between_forward_and_backward_does_not_matter(subject):
    """Kernels that reuse memory must not hand out a chart that a backward pass still needs."""
    case, another = subject.case((3,)).leaves(), subject.case((3,), seed=5).leaves()
    expected = grad(case.distribution().log_partition.sum(), case.scores, materialize_grads=True)
    value = case.distribution().log_partition.sum()
    for _ in range(3):
        grad(another.distribution().log_partition.sum(), another.scores, materialize_grads=True)
        another.distribution().sample((2,))
    for found, true in zip(grad(value, case.scores, materialize_grads=True), expected, strict=True):
        assert torch.equal(found, true)
