"""Mappings as modules: those of PyTorch's functional form, with an alpha that may be learned."""

import math

import pytest
import torch
from torch import nn

from strukt import losses, mappings
from strukt.nn import (
    Entmax,
    Entmax15,
    Entmax15Loss,
    EntmaxLoss,
    Fusedmax,
    FusedmaxLoss,
    Normmax,
    NormmaxLoss,
    Oscarmax,
    OscarmaxLoss,
    RelaxedBudget,
    RelaxedBudgetLoss,
    RelaxedSubset,
    RelaxedSubsetLoss,
    Sparsemax,
    SparsemaxLoss,
)


@pytest.mark.parametrize(
    ("module", "function"),
    [
        (Sparsemax(0), lambda x: mappings.sparsemax(x, 0)),
        (Entmax15(), mappings.entmax15),
        (Entmax(0.5, dim=2), lambda x: mappings.entmax(x, 0.5, 2)),
        (Entmax(1.3, dim=1), lambda x: mappings.entmax(x, 1.3, 1)),
        (Normmax(3.0), lambda x: mappings.normmax(x, 3.0)),
        (Fusedmax(0.1), lambda x: mappings.fusedmax(x, 0.1)),
        (Oscarmax(0.1), lambda x: mappings.oscarmax(x, 0.1)),
        (RelaxedSubset(2), lambda x: mappings.ksubset(x, 2)),
        (RelaxedBudget(2), lambda x: mappings.budget(x, 2)),
    ],
)
def test_modules_are_their_functions(module, function):
    x = torch.randn(3, 4, 5, generator=torch.Generator().manual_seed(0))
    assert torch.allclose(module(x), function(x), atol=1e-6)
    mask = torch.ones_like(x, dtype=torch.bool)
    mask[..., 0] = False
    assert torch.allclose(module(x, mask), function(x.masked_fill(~mask, -torch.inf)), atol=1e-6)
    assert not module.state_dict()
    assert "dim" in repr(module) or isinstance(module, Entmax)


def test_an_alpha_for_each_head_is_learned_and_stays_above_one():
    torch.manual_seed(0)
    module = Entmax(1.5, learn=True, shape=(2, 1, 1))
    optimiser = torch.optim.SGD(module.parameters(), lr=50.0)
    x = torch.randn(4, 2, 3, 6)
    before = module(x).square().sum()
    for _ in range(5):
        optimiser.zero_grad()
        module(x).square().mean().backward()  # the flatter the better: towards softmax
        optimiser.step()
        assert (module.alpha > 1).all()
    assert module(x).square().sum() < before
    assert list(module.state_dict()) == ["raw"]


def test_losses_take_the_place_of_cross_entropy():
    x, target = (
        torch.randn(5, 3, generator=torch.Generator().manual_seed(1)),
        torch.tensor([0, 1, 2, -100, 1]),
    )
    assert torch.allclose(EntmaxLoss(1.0)(x, target), nn.CrossEntropyLoss()(x, target))
    assert SparsemaxLoss()(x, target) == losses.sparsemax_loss(x, target)
    assert Entmax15Loss(reduction="sum")(x, target) == losses.entmax15_loss(x, target, reduction="sum")


@pytest.mark.parametrize(
    ("module", "settings", "function"),
    [
        (EntmaxLoss, {"alpha": 1.3}, losses.entmax_loss),
        (EntmaxLoss, {"alpha": 0.4}, losses.entmax_loss),
        (NormmaxLoss, {"alpha": 3.0}, losses.normmax_loss),
        (FusedmaxLoss, {"weight": 0.1}, losses.fusedmax_loss),
        (OscarmaxLoss, {"weight": 0.1}, losses.oscarmax_loss),
        (RelaxedSubsetLoss, {"k": 2}, losses.ksubset_loss),
        (RelaxedBudgetLoss, {"k": 1.5}, losses.budget_loss),
    ],
)
def test_losses_are_their_functions(module, settings, function):
    x = torch.randn(5, 4, 3, generator=torch.Generator().manual_seed(1))
    points = mappings.ksubset(torch.randn(x.shape, generator=torch.Generator().manual_seed(2)), 2, dim=1)
    classes = torch.randint(4, (5, 3), generator=torch.Generator().manual_seed(3))
    options = {"dim": 1, "reduction": "none", "ignore_index": 2, "label_smoothing": 0.1}
    loss = module(**settings, **options)
    for target in (points, classes):
        assert torch.equal(loss(x, target), function(x, target, **settings, **options))
    assert not loss.state_dict()
    ((name, value),) = settings.items()
    assert repr(loss).startswith(f"{module.__name__}({name}={value}, dim=1, reduction=none")
    setattr(loss, name, value + 0.5)
    assert torch.equal(loss(x, points), function(x, points, **{name: value + 0.5}, **options))


def test_losses_start_from_the_settings_of_their_functions():
    x = torch.randn(5, 4, generator=torch.Generator().manual_seed(1))
    target = torch.tensor([0, 1, 2, 3, 1])
    for module, function in (
        (EntmaxLoss, losses.entmax_loss),
        (NormmaxLoss, losses.normmax_loss),
        (FusedmaxLoss, losses.fusedmax_loss),
        (OscarmaxLoss, losses.oscarmax_loss),
    ):
        assert module()(x, target) == function(x, target)


@pytest.mark.parametrize("alpha", [1.001, 100.0, 1000.0, 1e6])
def test_a_learned_alpha_starts_at_its_initial_value(alpha):
    assert Entmax(alpha, learn=True).alpha.item() == pytest.approx(alpha, rel=1e-6)


def test_messages_name_the_misfit():
    with pytest.raises(ValueError, match=r"alpha is 1.0; expected more than 1, .* leave out learn"):
        Entmax(1.0, learn=True)
    with pytest.raises(ValueError, match=r"alpha is 0; expected a finite number above 0 \(1 is softmax\)"):
        Entmax(0)
    for alpha in (math.inf, math.nan, "a"):
        with pytest.raises(ValueError, match=r"alpha is .*; expected a finite number above 0"):
            Entmax(alpha)
    for alpha in (math.inf, torch.tensor(math.inf)):
        with pytest.raises(ValueError, match=r"alpha (is|holds) inf.*; expected a finite number above 0"):
            Entmax(torch.as_tensor(alpha))(torch.zeros(2))
        with pytest.raises(ValueError, match=r"alpha (is|holds) inf.*; expected a finite number above 0"):
            losses.entmax_loss(torch.zeros(1, 2), torch.tensor([0]), alpha)
    with pytest.raises(ValueError, match=r"alpha is 0\.0; expected"):
        EntmaxLoss(0.0)(torch.zeros(1, 2), torch.tensor([0]))


def test_an_alpha_given_as_a_tensor_keeps_its_gradient():
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
    alpha = torch.tensor(1.3, requires_grad=True)
    module = Entmax(alpha)
    module(x)[0].max().backward()
    assert alpha.grad.abs() > 0
    assert not list(module.parameters())
    parameter = torch.nn.Parameter(torch.tensor(1.5))
    assert list(Entmax(parameter).parameters()) == [parameter]
    assert Entmax(parameter).alpha is parameter
    with pytest.raises(ValueError, match="leave out learn and shape"):
        Entmax(alpha, learn=True)
