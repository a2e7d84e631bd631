"""Surrogate gradients of the best structures against their formulas."""

import pytest
import torch
from tests.mappings.test_sparsemax_entmax import normal

from strukt.distributions import KSubset, LinearChain, NonProjectiveTree


@pytest.mark.parametrize("gradient_name", ["straight-through", "spigot", "perceptron"])
def test_surrogate_gradients_are_their_formulas(gradient_name):
    step, incoming = 0.7, normal(2, 3, 4, seed=3)
    arcs = (2 * normal(2, 3, 4)).requires_grad_()
    distribution = NonProjectiveTree(arcs, labelled=False)
    parts = distribution.mode_parts(gradient_name, step)
    best = distribution.to_parts(distribution.mode)
    assert torch.equal(parts, best)
    (found,) = torch.autograd.grad(parts, arcs, incoming)
    with torch.no_grad():
        wanted = {
            "straight-through": incoming,
            "spigot": (best - _nearest(best - step * incoming)) / step,
            "perceptron": (best - best.new_tensor(_best_parts(arcs - step * incoming))) / step,
        }[gradient_name]
    assert torch.allclose(found, wanted)


@pytest.mark.parametrize("gradient_name", ["spigot", "perceptron"])
def test_vmap_is_told_to_use_a_batch_axis(gradient_name):
    with pytest.raises(NotImplementedError, match="give them a batch axis"):
        torch.vmap(lambda arcs: NonProjectiveTree(arcs).mode_parts(gradient_name))(normal(2, 3, 4))


def _nearest(point: torch.Tensor) -> torch.Tensor:
    return NonProjectiveTree(point, labelled=False).sparsemap().marginals


def _best_parts(arcs: torch.Tensor) -> list[list[list[float]]]:
    distribution = NonProjectiveTree(arcs, labelled=False)
    events = distribution.enumerate_support()
    best = distribution.score(events).argmax(0)
    chosen = events[best, torch.arange(2)]
    return distribution.to_parts(chosen).tolist()


def test_surrogates_leave_forbidden_parts_alone():
    scores = torch.tensor([[1.0, -torch.inf, 0.0, 2.0]], dtype=torch.float64, requires_grad=True)
    for name in ("straight-through", "spigot", "perceptron"):
        parts = KSubset(scores, 2).mode_parts(name)
        (found,) = torch.autograd.grad(
            parts, scores, torch.tensor([[1.0, -9.0, -3.0, 0.5]], dtype=torch.float64)
        )
        assert parts.tolist() == [[1.0, 0.0, 0.0, 1.0]]
        assert found[0, 1] == 0
        assert found[0, 0] > 0


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda chain: chain.rsample_implicit(-1.0), "step is -1.0; expected a number above 0"),
        (lambda chain: chain.mode_parts("perceptron", torch.inf), "step is inf; .* finite"),
    ],
)
def test_wrong_arguments_are_refused(ask, message):
    with pytest.raises(ValueError, match=message):
        ask(LinearChain(normal(3, 2), normal(2, 2)))
