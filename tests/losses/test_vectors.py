"""Losses of mappings: convex, zero at their target, with the prediction less the target as their gradient."""

import math

import pytest
import torch
from tests.mappings.test_sparsemax_entmax import normal, pytestmark  # noqa: F401 -- marks this file, too
from torch.autograd import gradcheck, gradgradcheck

from strukt import losses, mappings

SUBSETS = (mappings.ksubset, mappings.budget)
BY_ALPHA = [0.4, 0.9, 1.0, 1.3, 1.5, 2.0, 3.0]


def probabilities(rows: int, d: int) -> torch.Tensor:
    return mappings.sparsemax(normal(rows, d, seed=9))


KINDS = pytest.mark.parametrize(
    ("loss", "mapping", "parameter"),
    [
        *((losses.entmax_loss, mappings.entmax, alpha) for alpha in BY_ALPHA),
        (losses.normmax_loss, mappings.normmax, 1.5),
        (losses.normmax_loss, mappings.normmax, 3.0),
        (losses.fusedmax_loss, mappings.fusedmax, 0.1),
        (losses.oscarmax_loss, mappings.oscarmax, 0.1),
        (losses.ksubset_loss, mappings.ksubset, 2.0),
        (losses.budget_loss, mappings.budget, 2.0),
    ],
)


def target_for(mapping: object, rows: int, d: int) -> torch.Tensor:
    share = probabilities(rows, d)
    return mappings.ksubset(normal(rows, d, seed=8), 2.0) if mapping in SUBSETS else share


@KINDS
def test_the_gradient_is_the_prediction_less_the_target(loss, mapping, parameter):
    x = normal(5, 6).requires_grad_()
    target = target_for(mapping, 5, 6)
    (grad,) = torch.autograd.grad(loss(x, target, parameter, reduction="sum"), x)
    assert torch.equal(grad, mapping(x, parameter) - target)


@KINDS
def test_losses_are_positive_except_at_their_target(loss, mapping, parameter):
    x = normal(20, 6)
    assert (loss(x, target_for(mapping, 20, 6), parameter, reduction="none") > 0).all()
    assert loss(x, mapping(x, parameter), parameter, reduction="none").abs().max() < 1e-13


@pytest.mark.parametrize(("alpha", "dtype"), [(1000.0, torch.float64), (100.0, torch.float32)])
def test_the_normmax_loss_is_right_where_all_powers_underflow(alpha, dtype):
    x = torch.linspace(0.0, 0.5, 6, dtype=dtype)
    p = mappings.normmax(x, alpha)
    assert (p**alpha == 0).all()
    norm = ((alpha * p.double().log()).logsumexp(0) / alpha).exp()
    conjugate = (x.double() @ p.double() - norm).item()
    assert losses.normmax_loss(x, torch.tensor(5), alpha).item() == pytest.approx(conjugate + 1.0 - 0.5, abs=1e-6)
    assert losses.normmax_loss(x, p, alpha).item() == pytest.approx(0.0, abs=1e-6)


@KINDS
def test_the_value_is_the_conjugate(loss, mapping, parameter):
    """By integration of the gradient: the difference of the losses of two targets is linear in the scores."""
    x, steps = normal(3, 6), torch.linspace(0, 1, 2001, dtype=torch.float64)
    start = normal(3, 6, seed=1)
    target = target_for(mapping, 3, 6)
    middles = 0.5 * (steps[1:] + steps[:-1])
    path = start + middles[:, None, None] * (x - start)
    slopes = ((mapping(path, parameter) - target) * (x - start)).sum(-1).mean(0)
    difference = loss(x, target, parameter, reduction="none") - loss(
        start, target, parameter, reduction="none"
    )
    assert torch.allclose(difference, slopes, atol=1e-5)


@pytest.mark.parametrize(
    ("loss", "mapping", "parameter"),
    [
        pytest.param(*kind, marks=pytest.mark.slow if place % 2 and place < len(BY_ALPHA) else ())
        for place, kind in enumerate(KINDS.args[1])
    ],
)
def test_all_derivatives(loss, mapping, parameter):
    x, target = normal(3, 6, seed=5).requires_grad_(), target_for(mapping, 3, 6)
    each = torch.full((3, 1), parameter, dtype=torch.float64, requires_grad=mapping not in SUBSETS)

    def value(x: torch.Tensor, each: torch.Tensor) -> torch.Tensor:
        return loss(x, target, each)

    assert gradcheck(value, (x, each), check_forward_ad=True)
    assert gradgradcheck(value, (x, each), fast_mode=True)


def test_alpha_of_one_is_cross_entropy():
    x, classes = normal(4, 5), torch.tensor([0, 4, -100, 2])
    reductions = ({"reduction": name} for name in ("mean", "sum", "none"))
    for options in (*reductions, {"label_smoothing": 0.2}, {"ignore_index": 4}):
        given = classes.clamp(min=0) if "ignore_index" in options else classes
        expected = torch.nn.functional.cross_entropy(x, given, **options)
        found = losses.entmax_loss(x, given, 1.0, **options)
        if "label_smoothing" in options:  # the loss is 0 at a smoothed target: its entropy is left out
            share = torch.tensor([0.84, 0.04, 0.04, 0.04, 0.04], dtype=torch.float64)
            expected = expected + (share * share.log()).sum()
        assert torch.allclose(found, expected, atol=1e-14)


@pytest.mark.thinned("alpha", "backend", "d")
@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize("alpha", [0.3, 0.8, 1.0, 1 + 1e-6, 1.3, 1.5, 2.0, 3.0])
@pytest.mark.parametrize("d", [1, 6, 1100])
def test_classes_are_points_with_one_entry(monkeypatch, backend, alpha, d):
    monkeypatch.setenv("STRUKT_BACKEND", backend)
    x, classes = (3 * normal(5, d)).requires_grad_(), torch.tensor([0, d - 1, 0, d // 2, d // 3])
    points = torch.nn.functional.one_hot(classes, d).to(x)
    weights = normal(5, seed=4)
    value = losses.entmax_loss(x, classes, alpha, reduction="none")
    expected = losses.entmax_loss(x, points, alpha, reduction="none")
    assert torch.allclose(value, expected, rtol=1e-12, atol=1e-12)
    assert torch.equal(losses.entmax_loss(x, classes.int(), alpha, reduction="none"), value)
    grads = [torch.autograd.grad(each, x, weights, create_graph=True)[0] for each in (value, expected)]
    assert torch.allclose(*grads, rtol=1e-13, atol=1e-15)
    seconds = [torch.autograd.grad(grad.square().sum(), x)[0] for grad in grads]
    assert torch.allclose(*seconds, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize(
    "alpha", [pytest.param(alpha, marks=pytest.mark.slow if i % 2 else ()) for i, alpha in enumerate(BY_ALPHA)]
)
def test_all_derivatives_for_classes(alpha):
    x, classes = normal(3, 6, seed=5).requires_grad_(), torch.tensor([1, -100, 5])

    def value(x: torch.Tensor) -> torch.Tensor:
        return losses.entmax_loss(x, classes, alpha, reduction="none")

    assert gradcheck(value, (x,))
    assert gradgradcheck(value, (x,))
    assert gradcheck(value, (x,), check_forward_ad=True, check_backward_ad=False)
    assert gradgradcheck(value, (x,), check_fwd_over_rev=True)
    rows = torch.func.vmap(lambda row, place: losses.entmax_loss(row, place, alpha))
    assert torch.allclose(rows(x[::2], classes[::2]), value(x)[::2])


def test_a_shift_of_all_scores_changes_nothing():
    x, classes = normal(4, 50), torch.tensor([0, 7, 20, 49])
    expected = losses.sparsemax_loss(x, classes, reduction="none")
    shifted = losses.sparsemax_loss((x + 1e4).float(), classes, reduction="none")
    assert torch.allclose(shifted.double(), expected, atol=5e-3)


def test_masked_scores_take_no_part():
    x = normal(3, 6).requires_grad_()
    mask = torch.tensor([True, True, False, True, False, True])
    classes = torch.tensor([0, 3, 5])
    for loss in (losses.sparsemax_loss, losses.normmax_loss, losses.fusedmax_loss, losses.oscarmax_loss):
        found = loss(x, classes, mask=mask, reduction="none", label_smoothing=0.1)
        (grad,) = torch.autograd.grad(found.sum(), x, create_graph=True)
        assert (grad[:, ~mask] == 0).all()
        (second,) = torch.autograd.grad(grad.square().sum(), x)
        assert second.isfinite().all()
        if loss is not losses.fusedmax_loss:  # its neighbours are parted by what is masked
            short = loss(x[:, mask], torch.tensor([0, 2, 3]), reduction="none", label_smoothing=0.1)
            assert torch.allclose(found, short, atol=1e-14)


def test_a_forbidden_target_costs_infinitely_much():
    x = torch.tensor([[0.0, -math.inf], [0.0, -math.inf]], dtype=torch.float64)
    assert losses.sparsemax_loss(x, torch.tensor([1, 0]), reduction="none").tolist() == [math.inf, 0.0]


def test_any_axis_and_half_types():
    x, classes = normal(2, 5, 3), torch.tensor([[0, 4, 1], [2, 2, 3]])
    found = losses.entmax15_loss(x, classes, dim=1, reduction="none")
    assert torch.equal(found, losses.entmax15_loss(x.mT, classes, reduction="none"))
    assert losses.entmax15_loss(x.bfloat16(), classes, dim=1).dtype == torch.bfloat16


def test_nothing_counts_where_all_are_ignored():
    x = normal(2, 3).requires_grad_()
    loss = losses.sparsemax_loss(x, torch.tensor([-100, -100]))
    loss.backward()
    assert loss == 0
    assert (x.grad == 0).all()


@pytest.mark.parametrize(
    ("target", "options", "message"),
    [
        (torch.tensor([0, 3]), {}, "target holds 3 .* expected classes from 0 to 2"),
        (torch.tensor([0]), {}, "target has shape"),
        (torch.zeros(3), {}, "target has shape"),
        (torch.tensor([True, False]), {}, r"target is of dtype torch.bool; expected a tensor of classes"),
        ([0, 1], {}, r"target is a list; .*torch\.tensor\(target\)"),
        (torch.tensor([[1.5, -0.5, 0.0], [1.0, 0.0, 0.0]]), {}, r"target holds -0\.5.* of 0 or more"),
        (torch.full((2, 3), math.nan), {}, "target holds nan"),
        (torch.ones(2, 3, requires_grad=True), {}, r"target requires a gradient, .*; give target\.detach\(\)"),
        (torch.tensor([0, 0]), {"reduction": "median"}, "reduction is 'median'"),
        (torch.tensor([0, 0]), {"label_smoothing": 2.0}, "label_smoothing is 2.0"),
    ],
)
def test_messages_name_the_misfit(target, options, message):
    with pytest.raises(ValueError, match=message):
        losses.sparsemax_loss(torch.zeros(2, 3), target, **options)
    with pytest.raises(TypeError, match=r"unknown options \['smoothing'\]"):
        losses.sparsemax_loss(torch.zeros(2, 3), torch.tensor([0, 0]), smoothing=0.1)


@pytest.mark.parametrize("loss", [losses.normmax_loss, losses.fusedmax_loss, losses.oscarmax_loss])
@pytest.mark.parametrize("target", [torch.tensor([1, 0, 3]), torch.tensor([[0.5, 0.25, 0.25, 0.0]] * 3)])
def test_a_common_offset_costs_no_precision(loss, target):
    scores = normal(3, 4).float() + 1e4
    exact = loss(scores.double(), target.double() if target.is_floating_point() else target, 1.5)
    assert loss(scores, target, 1.5) == pytest.approx(exact.item(), abs=2e-6)


@pytest.mark.parametrize("loss", [losses.ksubset_loss, losses.budget_loss])
def test_targets_of_subsets_are_at_most_one(loss):
    x = torch.zeros(1, 3)
    with pytest.raises(ValueError, match=r"target holds 2.* expected numbers from 0 to 1"):
        loss(x, torch.tensor([[2.0, 0.0, 0.0]]), 2)
    rounded = torch.tensor([[1.0 + 1e-6, 1.0, 0.0]])
    assert loss(x, rounded, 2) == pytest.approx(loss(x, rounded.round(), 2).item(), abs=1e-5)


@KINDS
def test_the_default_device_plays_no_part(loss, mapping, parameter):
    x, target = normal(3, 6), target_for(mapping, 3, 6)
    mapped, expected = mapping(x, parameter), loss(x, target, parameter)
    with torch.device("meta"):
        assert torch.equal(mapping(x, parameter), mapped)
        assert torch.equal(loss(x, target, parameter), expected)


def test_the_loss_of_no_scores_is_zero():
    empty = torch.zeros(2, 0, requires_grad=True)
    for reduction, expected in (("none", [0.0, 0.0]), ("sum", 0.0), ("mean", 0.0)):
        loss = losses.sparsemax_loss(empty, torch.zeros(2, 0), reduction=reduction)
        assert loss.tolist() == expected
        assert torch.autograd.grad(loss.sum(), empty)[0].shape == (2, 0)


@pytest.mark.parametrize("name", ["entmax_loss", "normmax_loss", "fusedmax_loss", "oscarmax_loss"])
def test_a_parameter_may_be_a_tensor_of_integers(name):
    x, target = normal(2, 3), torch.tensor([0, 2])
    loss = getattr(losses, name)
    torch.testing.assert_close(loss(x, target, torch.tensor(2)), loss(x, target, 2.0))
