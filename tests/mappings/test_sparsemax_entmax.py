"""Sparsemax, entmax and normmax: optimal, differentiable twice at partial support, right at the edges."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.mappings.optimum import never_better
from torch.autograd import gradcheck, gradgradcheck

from strukt.mappings import entmax, entmax15, normmax, sparsemax

# PyTorch's own: its forward mode, and its tracing of an autograd function.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*torch.jit.script. is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning"),
]

ALPHAS = [0.3, 0.8, 1.0, 1.0001, 1.1, 4 / 3, 1.5, 1.7, 2.0, 2.5, 4.0]


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def to_simplex(p: np.ndarray) -> np.ndarray:
    p = np.clip(p, 0.0, None)
    return p / p.sum() if p.any() else np.full_like(p, 1 / len(p))


def tsallis(alpha: float):
    def negative_entropy(p: np.ndarray) -> float:
        if alpha == 1.0:
            return float((p * np.log(np.where(p > 0, p, 1.0))).sum())
        return float((p**alpha).sum() - 1.0) / (alpha * (alpha - 1.0))

    return negative_entropy


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("scale", [0.1, 1.0, 20.0])
def test_entmax_is_optimal(alpha, scale):
    x = scale * normal(5, 8)
    for row, p in zip(x.numpy(), entmax(x, alpha).numpy(), strict=True):
        assert abs(p.sum() - 1.0) < 1e-14
        assert never_better(p, row, tsallis(alpha), to_simplex)


@pytest.mark.parametrize("alpha", [1.1, 1.5, 2.0, 5.0])
@pytest.mark.parametrize("scale", [0.1, 1.0, 20.0])
def test_normmax_is_optimal(alpha, scale):
    x = scale * normal(5, 8)
    for row, p in zip(x.numpy(), normmax(x, alpha).numpy(), strict=True):
        assert abs(p.sum() - 1.0) < 1e-14
        assert never_better(p, row, lambda q: float((q**alpha).sum() ** (1 / alpha)), to_simplex)


def test_normmax_has_derivatives_where_all_powers_underflow():
    x = torch.linspace(0.0, 0.5, 6, dtype=torch.float64).requires_grad_()
    alpha = torch.tensor([1000.0], dtype=torch.float64, requires_grad=True)
    assert (normmax(x, alpha) ** alpha == 0).all()
    assert gradcheck(normmax, (x, alpha), atol=1e-8)
    (single,) = torch.autograd.grad(normmax(x.float(), 100.0)[-1], x)
    (double,) = torch.autograd.grad(normmax(x, 100.0)[-1], x)
    assert torch.allclose(single, double, rtol=1e-4, atol=1e-6)


def test_the_ends_of_the_family():
    x = 3 * normal(4, 30)
    assert torch.allclose(entmax(x, 1.0), x.softmax(-1), rtol=1e-13)
    assert torch.allclose(entmax(x, 1.0 + 1e-9), x.softmax(-1), rtol=1e-6)
    assert torch.equal(sparsemax(x), entmax(x, 2.0))
    assert torch.equal(entmax15(x), entmax(x, 1.5))
    ranked = x.sort(descending=True).values
    sums = ranked.cumsum(-1)
    sizes = torch.arange(1, 31)
    size = (1 + sizes * ranked > sums).sum(-1, keepdim=True)
    threshold = (sums.gather(-1, size - 1) - 1) / size
    assert torch.allclose(sparsemax(x), (x - threshold).clamp(min=0), atol=1e-15)


@pytest.mark.thinned("alpha", "mapping")
@pytest.mark.parametrize("mapping", [entmax, normmax])
@pytest.mark.parametrize("alpha", [1.0001, 1.2, 1.5, 2.0, 3.0])
def test_derivatives_at_partial_support(mapping, alpha):
    x = normal(3, 6, seed=1).requires_grad_()
    each = torch.full((3, 1), alpha, dtype=torch.float64, requires_grad=True)
    if mapping is normmax and alpha < 1.1:
        pytest.skip("normmax has no limit at 1: its gradient in alpha grows without bound")
    assert alpha < 1.1 or (mapping(x, alpha) == 0).any()
    assert gradcheck(mapping, (x, each))
    assert gradgradcheck(mapping, (x, each))
    assert gradcheck(mapping, (x, each), check_forward_ad=True, check_backward_ad=False)


@pytest.mark.parametrize("alpha", [1.5, 1.7, 2.0])
def test_derivatives_at_scattered_support(alpha):
    short, direction = normal(1, 4, seed=1).requires_grad_(), normal(1, 4, seed=2)
    places = torch.tensor([[3, 600, 601, 1299]])
    long = torch.full((1, 1300), -9.0, dtype=torch.float64).scatter(-1, places, short)
    spread = normal(1, 1300, seed=3).scatter(-1, places, direction)
    (expected,) = torch.autograd.grad(entmax(short, alpha), short, direction)
    (found,) = torch.autograd.grad(entmax(long, alpha), short, spread)
    assert torch.allclose(found, expected, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("alpha", [1.0, 1 + 1e-12, 1 + 1e-8, 1 + 1e-4, 1.001, 1.01])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_gradient_in_alpha_does_not_cancel_near_softmax(alpha, dtype):
    """The formula of the peer loses its digits here: in float32 it is 10 % off at 1.001."""
    x, weights = normal(1, 6), normal(1, 6, seed=2)
    each = torch.full((1, 1), alpha, dtype=torch.float64, requires_grad=True)
    (weights.to(dtype) * entmax(x.to(dtype), each)).sum().backward()
    p = x.softmax(-1)
    half = 0.5 * p.log() ** 2
    limit = -(weights * p * (half - (p * half).sum())).sum()
    assert each.grad is not None
    assert abs(each.grad.item() - limit.item()) < 2e-6 + 2 * (alpha - 1)


@pytest.mark.parametrize("mapping", [sparsemax, entmax15, normmax, lambda x, **more: entmax(x, 1.7, **more)])
def test_any_axis(mapping):
    x = normal(3, 4, 5)
    for dim in (0, 1, 2, -1, -2):
        for cap in (None, 2):
            expected = mapping(x.movedim(dim, -1), max_support=cap).movedim(-1, dim)
            assert torch.equal(mapping(x, dim=dim, max_support=cap), expected)


def test_an_alpha_for_each_row():
    x = normal(2, 3, 7)
    alpha = torch.tensor([1.0, 1.5, 2.5], dtype=torch.float64).reshape(3, 1)
    found = entmax(x, alpha)
    for head in range(3):
        assert torch.equal(found[:, head], entmax(x[:, head], alpha[head].item()))


@pytest.mark.parametrize("mapping", [sparsemax, entmax15, normmax, lambda x, **more: entmax(x, 1.0, **more)])
def test_masked_scores_have_no_probability_and_no_gradient(mapping):
    x = normal(4, 6).requires_grad_()
    mask = normal(4, 6, seed=3) > -0.3
    mask[2] = False
    found = mapping(x, mask=mask)
    assert (found[~mask] == 0).all()
    assert torch.equal(found[2], torch.zeros(6, dtype=torch.float64))
    for row in (0, 1, 3):
        assert torch.allclose(found[row][mask[row]], mapping(x[row][mask[row]]), atol=1e-15)
    (grad,) = torch.autograd.grad(found.square().sum(), x, create_graph=True)
    assert (grad[~mask] == 0).all()
    assert grad.isfinite().all()
    (second,) = torch.autograd.grad(grad.square().sum(), x)
    assert second.isfinite().all()
    assert (second[~mask] == 0).all()
    infinite = x.detach().masked_fill(~mask, -math.inf)
    assert torch.equal(mapping(infinite), found)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_wrong_scores_make_their_row_nan_and_no_other(value):
    x = normal(3, 5)
    x[1, 2] = value
    for found in (sparsemax(x), entmax15(x), normmax(x), entmax(x, 2.5)):
        assert found[1].isnan().all()
        assert found[[0, 2]].isfinite().all()


@pytest.mark.parametrize("alpha", [1.0, 1.3, 1.5, 2.0, 3.0, 10.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_probabilities_sum_to_one(alpha, dtype):
    x = (10 * normal(20, 1000)).to(dtype)
    assert (entmax(x, alpha).sum(-1) - 1).abs().max() < 10 * torch.finfo(dtype).eps


def test_ties_share_and_huge_scores_decide():
    assert torch.allclose(sparsemax(torch.zeros(2, 4)), torch.full((2, 4), 0.25))
    assert torch.allclose(entmax(torch.tensor([1e30, 1e30, -1e30]), 1.5), torch.tensor([0.5, 0.5, 0.0]))
    assert torch.equal(sparsemax(torch.tensor([-1e30, 5.0])), torch.tensor([0.0, 1.0]))


@given(
    st.lists(st.floats(-50, 50), min_size=1, max_size=40),
    st.sampled_from([1.0, 1.2, 1.5, 1.9, 2.0, 2.7]),
    st.floats(-1e3, 1e3),
)
def test_shifts_do_not_matter_and_order_does(values, alpha, shift):
    x = torch.tensor(values, dtype=torch.float64)
    p = entmax(x, alpha)
    assert (p >= 0).all()
    assert torch.allclose(entmax(x + shift, alpha), p, atol=1e-6 if alpha > 2 else 1e-11)
    order = x.argsort()
    assert (p[order].diff() >= -1e-15).all()


@pytest.mark.parametrize("mapping", [entmax15, sparsemax, normmax])
def test_a_cap_keeps_the_largest(mapping):
    x = 0.1 * normal(5, 9)
    found = mapping(x, max_support=3)
    kept = x.topk(3).indices
    assert ((found > 0).sum(-1) <= 3).all()
    assert torch.allclose(found.gather(-1, kept), mapping(x.gather(-1, kept)), atol=1e-15)
    assert torch.equal(mapping(x, max_support=20), mapping(x))


def test_empty_tensors():
    for shape in ((0, 3), (2, 0), (0,), (0, 0, 2)):
        x = torch.zeros(shape, requires_grad=True)
        for mapping in (sparsemax, entmax15, normmax):
            found = mapping(x)
            assert found.shape == x.shape
            found.sum().backward()


def test_functional_transforms():
    x = normal(4, 3, 6)
    batched = torch.func.vmap(entmax15)(x)
    assert torch.equal(batched, entmax15(x))
    assert torch.func.vmap(entmax15)(x[:0]).shape == x[:0].shape
    gradients = torch.func.vmap(torch.func.grad(lambda row: sparsemax(row).square().sum()))(x)
    leaf = x.clone().requires_grad_()
    sparsemax(leaf).square().sum().backward()
    assert torch.allclose(gradients, leaf.grad)

    def value(row: torch.Tensor) -> torch.Tensor:
        return (entmax15(row) ** 3).sum()

    forward_over_reverse = torch.func.hessian(value)(x[0, 0])
    assert torch.allclose(forward_over_reverse, torch.func.jacrev(torch.func.grad(value))(x[0, 0]))
    jacobian = torch.func.jacfwd(entmax15)(x[0, 0])
    assert torch.allclose(jacobian, torch.autograd.functional.jacobian(entmax15, x[0, 0]))
    assert torch.func.hessian(entmax15)(x[0, 0]).shape == (6, 6, 6)
    alphas = torch.tensor([1.2, 1.5, 2.0, 2.5], dtype=torch.float64)
    each = torch.func.vmap(lambda row, alpha: entmax(row, alpha.unsqueeze(-1).unsqueeze(-1)))(x, alphas)
    assert torch.equal(each, entmax(x, alphas[:, None, None]))


def test_a_compiled_function_gives_the_same():
    compiled = torch.compile(lambda x: entmax(x, 1.5).square().sum(), fullgraph=True, backend="aot_eager")
    x = normal(3, 7).requires_grad_()
    (expected,) = torch.autograd.grad(entmax15(x).square().sum(), x)
    (found,) = torch.autograd.grad(compiled(x), x)
    assert torch.allclose(found, expected)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"alpha": 0.0}, r"alpha is 0\.0; expected a finite number above 0 \(1 is softmax\)"),
        ({"alpha": -0.5}, "alpha is -0.5"),
        ({"alpha": torch.tensor([[0.5], [0.0]])}, "alpha holds 0.0 at batch item 1; expected"),
        ({"alpha": math.nan}, "alpha is nan"),
        ({"dim": 2}, "dim is 2; expected -2 to 1"),
        ({"max_support": 0}, "max_support is 0"),
        ({"mask": torch.ones(3, dtype=torch.bool)}, "mask has shape"),
        ({"mask": torch.ones(2, 5)}, "mask is"),
        ({"alpha": torch.ones(5)}, "alpha has shape"),
    ],
)
def test_messages_name_the_misfit(arguments, message):
    with pytest.raises(ValueError, match=message):
        entmax(torch.zeros(2, 5), **arguments)


def test_integers_are_no_scores():
    with pytest.raises(ValueError, match=r"x has dtype torch.int64; expected a floating-point tensor"):
        sparsemax(torch.tensor([1, 2]))
    for alpha in (1.0, math.inf):
        with pytest.raises(ValueError, match=rf"alpha is {alpha}; expected more than 1, and finite"):
            normmax(torch.zeros(3), alpha)
