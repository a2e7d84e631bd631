"""Every operator of every structure: without a batch, with an empty one, under torch.func."""

import pytest
import torch
from tests.further import OF_COMMON_CODE

from strukt.inference.sparsemap import SparseMAP
from strukt.testing.subjects import STRUCTURES

OPERATORS = (
    "log_partition",
    "marginals",
    "max_score",
    "mode",
    "mbr",
    "log_count",
    "entropy",
    "max_marginals",
)
CALLED = ("topk", "sample", "sample_without_replacement", "perturb_and_map", "rsample_relaxed", "sparsemap")

of_every_structure = OF_COMMON_CODE


def answer(distribution, operator):
    """A tensor, or None where the structure refuses with a reason."""
    arguments = {
        "topk": (2,),
        "sample": ((2,),),
        "perturb_and_map": ((2,),),
        "sample_without_replacement": (2,),
    }
    arguments["rsample_relaxed"] = (1.0, (2,))
    try:
        value = getattr(distribution, operator)
        value = value(*arguments.get(operator, ())) if callable(value) else value
    except NotImplementedError:
        return None
    value = value.marginals if isinstance(value, SparseMAP) else value
    return value[0] if isinstance(value, tuple) else value


@of_every_structure
def test_expanded_without_a_batch(subject):
    item = subject.case(()).distribution()
    for shape in ((3,), (2, 1), (0,)):
        copies = item.expand(torch.Size(shape))
        for operator in ("log_partition", "mode", "max_score"):
            if operator not in subject.lacks:
                single, several = getattr(item, operator), getattr(copies, operator)
                assert torch.allclose(several.double(), single.double().expand(several.shape))


@of_every_structure
def test_cross_entropies_and_divergences_broadcast(subject):
    one, several = (
        subject.case(shape, lengths=[subject.size], seed=seed) for seed, shape in enumerate([(2,), (3, 1)])
    )
    try:
        value = one.distribution().cross_entropy(several.distribution())
    except NotImplementedError:
        pytest.skip("has no cross-entropies")
    other_way = several.distribution().cross_entropy(one.distribution())
    divergence = torch.distributions.kl_divergence(one.distribution(), several.distribution())
    assert value.shape == other_way.shape == divergence.shape == (3, 2)
    for i in range(3):
        for j in range(2):
            p, q = one.item((j,)).distribution(), several.item((i, 0)).distribution()
            assert torch.allclose(value[i, j], p.cross_entropy(q))
            assert torch.allclose(other_way[i, j], q.cross_entropy(p))
            assert torch.allclose(divergence[i, j], torch.distributions.kl_divergence(p, q))


@of_every_structure
def test_an_empty_batch(subject):
    for operator in (*OPERATORS, *CALLED):
        case = subject.case((0,)).leaves()
        value = answer(case.distribution(), operator)
        if value is None:
            continue
        assert value.numel() == 0
        if value.requires_grad:
            gradients = torch.autograd.grad(value.sum(), case.scores, allow_unused=True)
            assert all(gradient is None or (gradient == 0).all() for gradient in gradients)
    for surrogate in ("straight-through", "perceptron"):
        assert subject.case((0,)).distribution().mode_parts(surrogate).numel() == 0


@of_every_structure
@pytest.mark.parametrize("surrogate", ["straight-through", "perceptron", "spigot"])
def test_surrogate_gradients_under_torch_func(subject, surrogate):
    case = subject.case((2,), lengths=[subject.size, subject.shortest])
    weights = torch.randn(
        case.scores[0].shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64
    )

    def value(main):
        points = case.with_scores([main, *case.scores[1:]]).distribution()
        return (points.mode_parts(surrogate) * weights).sum()

    leaf = case.scores[0].clone().requires_grad_()
    if surrogate == "spigot" and "KDPP" in subject.name:
        with pytest.raises(NotImplementedError, match="perceptron"):
            value(leaf)
        return
    (expected,) = torch.autograd.grad(value(leaf), leaf)
    assert torch.allclose(torch.func.grad(value)(case.scores[0]), expected)


@of_every_structure
def test_the_gradient_of_a_max_marginal_is_the_parts_of_its_structure(subject):
    case = subject.case((1,), lengths=[subject.size]).leaves()
    found = answer(case.distribution(), "max_marginals")
    if found is None:
        pytest.skip("has no max-marginals")
    table = case.item((0,)).table()
    for place in found[0].isfinite().nonzero()[::5]:
        (gradient,) = torch.autograd.grad(found[(0, *place)], case.scores[0], retain_graph=True)
        using = table.parts[(slice(None), *place)] > 0
        best = torch.where(using, table.scores, -torch.inf).argmax()
        (expected,) = torch.autograd.grad(table.scores[best], case.scores[0], retain_graph=True)
        assert torch.allclose(gradient, expected)


def test_a_surrogate_gradient_has_no_derivative_of_its_own():
    case = STRUCTURES[-1].case((2,)).leaves()
    weights = torch.ones_like(case.scores[0], requires_grad=True)
    value = (case.distribution().mode_parts("perceptron") * weights).sum()
    (gradient,) = torch.autograd.grad(value, case.scores[0], create_graph=True)
    with pytest.raises(RuntimeError, match="surrogate gradient without a second derivative"):
        gradient.sum().backward()
