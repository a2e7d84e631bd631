"""Mappings of vectors and their losses where entmax 1.3 and torchsparseattn 0.2 give NaN, stop, or are wrong.

Some of their failures are checked beside the laws of the mappings: the gradient in alpha that cancels near 1 and
the second derivatives at partial support in `tests/mappings/test_sparsemax_entmax.py`, the learned alpha that
walks below 1 in `tests/nn/test_mappings.py`.
"""

import math
from functools import partial

import pytest
import torch
from tests.mappings.test_sparsemax_entmax import normal, pytestmark  # noqa: F401 -- marks this file, too
from torch.autograd import grad, gradcheck, gradgradcheck
from torch.func import hessian, jacrev

from strukt import losses, mappings

REGULARISED = {
    "softmax": (mappings.entmax, losses.entmax_loss, {"alpha": 1.0}),
    "entmax 4/3": (mappings.entmax, losses.entmax_loss, {"alpha": 4 / 3}),
    "entmax 1.5": (mappings.entmax15, losses.entmax15_loss, {}),
    "sparsemax": (mappings.sparsemax, losses.sparsemax_loss, {}),
    "entmax 3": (mappings.entmax, losses.entmax_loss, {"alpha": 3.0}),
    "normmax": (mappings.normmax, losses.normmax_loss, {}),
    "fusedmax": (mappings.fusedmax, losses.fusedmax_loss, {"weight": 0.1}),
    "oscarmax": (mappings.oscarmax, losses.oscarmax_loss, {"weight": 0.02}),
}
TO_THE_SIMPLEX = {name: partial(mapping, **given) for name, (mapping, _, given) in REGULARISED.items()}
LOSSES = {name: partial(loss, **given) for name, (_, loss, given) in REGULARISED.items()}
MAPPINGS = TO_THE_SIMPLEX | {
    "ksubset": partial(mappings.ksubset, k=2.0),
    "budget": partial(mappings.budget, k=2.0),
}
FUSED = {
    "fusedmax": partial(mappings.fusedmax, weight=0.1),
    "oscarmax": partial(mappings.oscarmax, weight=2e-4),
}

ALL = pytest.mark.parametrize("mapping", MAPPINGS.values(), ids=MAPPINGS)
ALL_LOSSES = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)


@pytest.mark.parametrize("name", LOSSES)
def test_second_derivatives_of_losses_of_classes(name):
    """The prediction is kept with the target subtracted in place, and its derivatives are then silently wrong."""
    x = normal(6, seed=8)
    loss, mapping = LOSSES[name], MAPPINGS[name]
    found = hessian(lambda x: loss(x, torch.tensor(2)))(x)
    assert torch.allclose(found, jacrev(mapping)(x), atol=1e-12)
    assert found.abs().max() > 0.1
    rows, classes = normal(3, 6, seed=5).requires_grad_(), torch.tensor([0, 5, 2])
    assert gradgradcheck(lambda x: loss(x, classes, label_smoothing=0.1), rows)


def test_losses_of_classes_have_a_gradient_in_alpha():
    """It is None."""
    x, classes = normal(4, 6).requires_grad_(), torch.tensor([0, 5, 2, 1])
    alpha = torch.tensor([[1.1], [1.5], [2.0], [3.0]], dtype=torch.float64, requires_grad=True)
    for loss in (losses.entmax_loss, losses.normmax_loss):
        assert gradcheck(lambda x, alpha, loss=loss: loss(x, classes, alpha), (x, alpha))
        assert gradgradcheck(lambda x, alpha, loss=loss: loss(x, classes, alpha), (x, alpha))


@pytest.mark.parametrize(
    ("alpha", "dtype"),
    [
        (2.5, torch.float64),
        (2.5, torch.float32),
        (3.0, torch.float32),
        (4.0, torch.float32),
        (4.0, torch.float64),
        (10.0, torch.float64),
        (10.0, torch.float32),
    ],
)
def test_large_alphas_are_solved(alpha, dtype):
    """At an alpha of 10 errors are 0.02 in double and 0.19 in single precision (entmax #36).

    Near the threshold a weight is a high root of a difference, and loses most digits of it.
    """
    x = normal(200, 20).to(dtype)
    expected = torch.stack([_from_below(row, alpha) for row in x.double()])
    found = mappings.entmax(x, alpha).double()
    assert torch.allclose(found, expected, rtol=0, atol=32 * torch.finfo(dtype).eps)


def _from_below(x, alpha):
    """Entmax of one row by bisection for the logarithm of what the smallest score of the support lies above the
    threshold, so that no digits cancel."""
    ranked, b = x.sort(descending=True).values, alpha - 1.0
    size = 1
    while size < len(x) and (b * (ranked[:size] - ranked[size])).pow(1 / b).sum() < 1:
        size += 1
    gaps = b * (ranked[:size] - ranked[size - 1])
    low, high = -800.0, 0.0
    for _ in range(100):
        middle = 0.5 * (low + high)
        above = (gaps + math.exp(middle)).pow(1 / b).sum() > 1
        low, high = (low, middle) if above else (middle, high)
    return torch.where(x >= ranked[size - 1], b * (x - ranked[size - 1]) + math.exp(low), 0.0).pow(1 / b)


def test_derivatives_at_an_alpha_of_ten():
    """Neither the first nor the second agree with differences."""
    x = normal(3, 6, seed=1).requires_grad_()
    alpha = torch.full((3, 1), 10.0, dtype=torch.float64, requires_grad=True)
    assert (mappings.entmax(x, 10.0) == 0).any()
    assert gradcheck(mappings.entmax, (x, alpha))
    assert gradgradcheck(mappings.entmax, (x, alpha))


@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize("alpha", [2.5, 5.0, 10.0, 30.0])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_gradients_where_one_slope_exceeds_all_others(monkeypatch, backend, alpha, dtype):
    """Its gradient is 0: the mean of the direction is its own, whose difference cancels."""
    monkeypatch.setenv("STRUKT_BACKEND", backend)
    x, direction = (normal(40, 20, seed=seed).to(dtype) for seed in (0, 3))
    x.requires_grad_()
    probabilities = mappings.entmax(x, alpha)
    (found,) = grad(probabilities, x, direction)
    p, v = probabilities.detach().double(), direction.double()
    slopes = torch.where(p > 0, p, 1.0).pow(2 - alpha) * (p > 0)
    shares = slopes / slopes.sum(-1, keepdim=True)
    apart = v[:, :, None] - v[:, None, :]
    expected = (slopes[:, :, None] * shares[:, None, :] * apart).sum(-1)
    assert (slopes.amax(-1) > 1e4 * slopes.sum(-1).sub(slopes.amax(-1))).any() or alpha < 10
    size = expected.abs().amax(-1, keepdim=True)
    assert torch.allclose(
        found / size.clamp(min=1e-9), expected / size.clamp(min=1e-9), atol=60 * torch.finfo(dtype).eps
    )


@pytest.mark.thinned("backend", "alpha", "weight")
@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize("alpha", [5.0, 10.0, 50.0])
@pytest.mark.parametrize("weight", [1e-3, 1e-4, 1e-5, 1e-6, 1e-10])
def test_two_derivatives_where_a_weight_all_but_vanishes(monkeypatch, backend, alpha, weight):
    """Of two weights of which the smaller has a slope up to 1e480: the second derivative of both."""
    monkeypatch.setenv("STRUKT_BACKEND", backend)
    b, w = alpha - 1.0, weight
    gap = ((1 - w) ** b - w**b) / b
    x = torch.tensor([[gap, 0.0, -1.0]], dtype=torch.float64, requires_grad=True)
    probabilities = mappings.entmax(x, alpha)
    assert probabilities[0].tolist() == pytest.approx([1 - w, w, 0.0], rel=1e-6, abs=1e-15)
    (first,) = grad(probabilities @ torch.tensor([1.0, 2.0, 3.0]).double(), x, create_graph=True)
    (second,) = grad(first[0, 1], x)
    slope = 1.0 / ((1 - w) ** (b - 1) + w ** (b - 1))
    bend = slope**3 * (b - 1) * ((1 - w) ** (b - 2) - w ** (b - 2))
    assert first[0].tolist() == pytest.approx([-slope, slope, 0.0], rel=1e-9)
    assert second[0].tolist() == pytest.approx([-bend, bend, 0.0], rel=1e-7)


@pytest.mark.thinned("mapping", "shape")
@ALL
@pytest.mark.parametrize(("shape", "dim"), [((2, 1, 5), -1), ((2, 1, 5), 2), ((1, 5, 1), 1), ((5, 1), 0)])
def test_axes_of_size_one_beside_the_scores(mapping, shape, dim):
    """`budget_bisect` drops an axis too many and has wrong gradients in the shape (2, 1, 5) (entmax #13)."""
    x = normal(*shape).requires_grad_()
    assert gradcheck(partial(mapping, dim=dim), x)
    assert gradgradcheck(partial(mapping, dim=dim), x)
    assert torch.equal(mapping(x, dim=dim).flatten(), _rows(mapping, x, dim).flatten())


def _rows(mapping, x, dim):
    """One row after the other."""
    last = x.movedim(dim, -1)
    rows = [mapping(row) for row in last.reshape(-1, last.shape[-1])]
    return torch.stack(rows).reshape(last.shape).movedim(-1, dim)


@pytest.mark.parametrize("name", TO_THE_SIMPLEX)
def test_one_score_has_probability_one(name):
    x = normal(3, 1).requires_grad_()
    found = MAPPINGS[name](x)
    assert torch.equal(found, torch.ones_like(found))
    assert (grad(found.square().sum(), x)[0] == 0).all()


@pytest.mark.thinned("name", "dtype", "scale")
@pytest.mark.parametrize("name", TO_THE_SIMPLEX)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_half_types_are_wrong_by_their_rounding_alone(name, dtype, scale):
    """Sums are off by 0.05, probabilities by 0.03 to 0.5 at scores of size 30 (entmax #30)."""
    x = (scale * normal(20, 100)).to(dtype)
    found, exact = MAPPINGS[name](x).double(), MAPPINGS[name](x.double())
    rounding = torch.finfo(dtype).eps
    assert ((found - exact).abs() <= rounding * exact + 1e-5).all()
    assert (found.sum(-1) - 1).abs().max() < rounding


@pytest.mark.thinned("mapping", "dtype")
@ALL
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_scores_far_below_zero_in_half_types(mapping, dtype):
    """Where all scores are about -1000, all probabilities are NaN in bfloat16."""
    x = (8 * normal(4, 8) - 1000).to(dtype)
    assert torch.allclose(mapping(x).double(), mapping(x.double()), rtol=torch.finfo(dtype).eps, atol=1e-4)


@ALL_LOSSES
def test_losses_of_scores_that_are_forbidden(loss):
    """They are NaN as soon as one score is -inf (entmax #9)."""
    x, kept = normal(3, 6, seed=6), torch.tensor([True, True, True, True, False, False])
    x[:, ~kept] = -math.inf
    classes = torch.tensor([0, 3, 1])
    leaf, short = x.clone().requires_grad_(), x[:, kept].clone().requires_grad_()
    found, expected = (loss(scores, classes, reduction="none") for scores in (leaf, short))
    assert torch.allclose(found, expected, atol=1e-14)
    (gradient,) = grad(found.sum(), leaf, create_graph=True)
    (short_gradient,) = grad(expected.sum(), short, create_graph=True)
    assert (gradient[:, ~kept] == 0).all()
    assert torch.allclose(gradient[:, kept], short_gradient, atol=1e-14)
    (second,) = grad(gradient.square().sum(), leaf)
    (short_second,) = grad(short_gradient.square().sum(), short)
    assert (second[:, ~kept] == 0).all()
    assert torch.allclose(second[:, kept], short_second, atol=1e-13)


@ALL
def test_rows_of_which_all_scores_are_forbidden(mapping):
    """They stop the whole batch with an error (entmax #19)."""
    x = normal(3, 6)
    x[1] = -math.inf
    leaf = x.clone().requires_grad_()
    found = mapping(leaf)
    assert torch.equal(found[1], torch.zeros(6, dtype=torch.float64))
    assert torch.equal(found[[0, 2]], mapping(x[[0, 2]]))
    (gradient,) = grad(found.square().sum(), leaf, create_graph=True)
    (second,) = grad(gradient.square().sum(), leaf)
    for derivative in (gradient, second):
        assert derivative.isfinite().all()
        assert (derivative[1] == 0).all()


@pytest.mark.thinned("d", "dtype", "backend")
@ALL
@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("d", [1, 2, 3, 7])
def test_nan_makes_its_row_nan_wherever_it_stands_and_no_other(monkeypatch, mapping, backend, dtype, d):
    """A row of fused scores would drop it: what lies between two neighbours is cut at their bounds."""
    monkeypatch.setenv("STRUKT_BACKEND", backend)
    x, clean = normal(d, d).to(dtype), normal(3, d, seed=1).to(dtype)
    x.fill_diagonal_(math.nan)
    parted = x.clone()
    parted[torch.arange(d - 1), torch.arange(1, d)] = -math.inf
    found = mapping(torch.cat([x, clean, parted]))
    assert found[:d].isnan().all()
    assert found[d + 3 :].isnan().all()
    assert torch.equal(found[d : d + 3], mapping(clean))
    assert mapping(x.T, dim=0).isnan().all()


@ALL_LOSSES
def test_ignored_rows_may_be_forbidden_altogether(loss):
    x, classes = normal(3, 6), torch.tensor([4, -100, 2])
    x[1] = -math.inf
    leaf = x.clone().requires_grad_()
    found = loss(leaf, classes)
    assert torch.equal(found, loss(x[[0, 2]], classes[[0, 2]]))
    (gradient,) = grad(found, leaf)
    assert gradient.isfinite().all()
    assert (gradient[1] == 0).all()


@pytest.mark.parametrize("name", FUSED)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_groups_are_equal_to_the_last_bit_and_share_their_gradient(name, dtype, offset):
    """Groups are found again by comparing probabilities, which fails if these were computed one by one.

    Derivatives are off by 3e-5 there. Here they are compared with their closed form: a probability moves with the
    mean of its group, less the mean of the support.
    """
    scores = (normal(300, seed=7).cumsum(0) * 0.01 + offset).to(dtype)
    x = scores.clone().requires_grad_()
    found = FUSED[name](x)
    weights = normal(300, seed=8).to(dtype)
    (gradient,) = grad(found, x, weights)
    support = (found > 0).to(dtype)
    together = ((found[:, None] == found) & (found > 0)).to(dtype)
    if name == "fusedmax":
        breaks = torch.cat([torch.zeros(1), (found.detach().diff() != 0).float()]).cumsum(0)
        together = together * (breaks[:, None] == breaks)
    assert together.sum(-1).max() > 3
    assert len(together.unique(dim=0)) > 3
    means = together @ weights / together.sum(-1).clamp(min=1)
    expected = support * (means - (support @ weights) / support.sum())
    assert torch.allclose(gradient, expected, atol=100 * torch.finfo(dtype).eps)
