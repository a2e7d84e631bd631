"""Laws of padding, empty batches and memory layouts, which change no result, and of arguments left unchanged."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.autograd import grad

from strukt.testing.comparison import agree, demand
from strukt.testing.law import law
from strukt.testing.operators import operators, random_arguments, rival
from strukt.testing.patterns import fill
from strukt.testing.subject import Case, Subject


@law()
def padding_is_never_read(subject: Subject) -> None:
    """Check that NaN, inf and huge numbers in the padding change no value and no gradient, and have gradient 0."""
    case = subject.case()
    masks, arguments, clean = case.padding(), random_arguments(case), case.leaves()
    expected = {operator: operator.of(clean.distribution(), arguments) for operator in operators(case)}
    truths = {operator: _gradients(value, clean) for operator, value in expected.items() if operator.smooth}
    for junk in (torch.nan, torch.inf, -torch.inf, 1e30):
        dirty = fill(case, masks, junk).leaves()
        for operator, value in expected.items():
            actual = operator.of(dirty.distribution(), arguments)
            agree(case, f"{operator.name} ignores {junk} in the padding", actual, value)
            if operator.smooth:
                claim = f"{operator.name}, {junk} in the padding"
                _compare_gradients(claim, case, _gradients(actual, dirty), truths[operator], masks)


@law()
def empty_batch_is_legal(subject: Subject) -> None:
    """Check that a batch without items has empty results of the right shape."""
    one, empty = subject.case((1,)), subject.case((0,))
    arguments = random_arguments(one)
    nothing = arguments.at(slice(0), rival(empty).distribution())
    for operator in operators(empty):
        actual, expected = operator.of(empty.distribution(), nothing), operator.of(one.distribution(), arguments)
        agree(empty, f"{operator.name} of an empty batch", actual, expected[:0])


@law("mode", "sample", "topk")
def empty_batch_has_empty_events(subject: Subject) -> None:
    """Check that events of a batch without items are empty tensors of the right shape."""
    case = subject.case((0,))
    distribution, one = case.distribution(), subject.case((1,)).distribution()
    for claim, actual, expected in (
        ("mode", distribution.mode, one.mode[:0]),
        ("sample", distribution.sample((2,)), one.sample((2,))[:, :0]),
        ("topk", distribution.topk(2)[1], one.topk(2)[1][:0]),
    ):
        same = actual.shape == expected.shape
        demand(same, case, f"{claim} of an empty batch has shape {expected.shape}")


@law()
def memory_layout_is_irrelevant(subject: Subject) -> None:
    """Compare the operators of transposed, interleaved and expanded scores with those of contiguous ones."""
    case = subject.case((3,))
    expanded = case.item((0,)).expand(3)
    layouts = {
        "transposed": (case, case.map(lambda score: score.transpose(0, -1).contiguous().transpose(0, -1))),
        "interleaved": (case, case.map(lambda score: torch.stack([score, score], -1)[..., 0])),
        "expanded": (expanded.map(torch.clone), expanded),
    }
    for layout, (plain, strided) in layouts.items():
        arguments = random_arguments(plain)
        for operator in operators(plain):
            expected, actual = (operator.of(each.distribution(), arguments) for each in (plain, strided))
            agree(plain, f"{operator.name} of {layout} scores", actual, expected)


@law("mode", "sample")
def inputs_are_left_alone(subject: Subject) -> None:
    """Check that no operator writes to its arguments, makes them require gradients, or switches the grad mode."""
    case = subject.case()
    before = [tensor.clone() for tensor in (*case.scores, case.lengths)]
    arguments = random_arguments(case)
    members = {operator.name: operator.of for operator in operators(case)}
    members |= {"mode": lambda d, _: d.mode, "sample": lambda d, _: d.sample((2,)), "mbr": lambda d, _: d.mbr}
    for name, of in members.items():
        for enabled in (True, False):
            with torch.set_grad_enabled(enabled):
                of(case.distribution(), arguments)
                demand(torch.is_grad_enabled() == enabled, case, f"{name} leaves the grad mode alone")
        for tensor, copy in zip((*case.scores, case.lengths), before, strict=True):
            demand(torch.equal(tensor, copy), case, f"{name} leaves its inputs alone")
            demand(not tensor.requires_grad, case, f"{name} does not make its inputs require gradients")


def _gradients(value: Tensor, case: Case) -> tuple[Tensor, ...]:
    """Return the gradients of a value with respect to the scores of its case."""
    return grad(value.sum(), case.scores, materialize_grads=True)


def _compare_gradients(
    claim: str,
    case: Case,
    actual: tuple[Tensor, ...],
    expected: tuple[Tensor, ...],
    padding: list[Tensor],
) -> None:
    """Check that gradients with respect to the scores are equal to the expected ones, and 0 in the padding."""
    for mask, gradient, true in zip(padding, actual, expected, strict=True):
        same = torch.allclose(gradient, true, rtol=1e-10, atol=1e-12)
        demand(same, case, f"{claim}: gradients do not change")
        demand((gradient[mask] == 0).all(), case, f"{claim}: gradients are exactly 0 there")
