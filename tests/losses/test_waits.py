"""Losses read nothing from a device without checks of values, and lengths on the CPU are read there."""

import pytest
import torch
from tests.elsewhere import elsewhere

from strukt import LinearChain, Transducer, set_default_validate_args
from strukt import losses as L
from strukt.kernels.dispatch import using

SCORES = torch.tensor([[1.0, 0.5, -1.0], [0.2, 0.1, 0.0]])
CLASSES, POINTS = torch.tensor([0, 2]), torch.full((2, 3), 1 / 3)

OF_VECTORS = {
    "entmax": lambda x, y, **options: L.entmax_loss(x, y, 1.3, **options),
    "sparsemax": L.sparsemax_loss,
    "normmax": L.normmax_loss,
    "fusedmax": L.fusedmax_loss,
    "oscarmax": L.oscarmax_loss,
    "ksubset": lambda x, y, **options: L.ksubset_loss(x, y, 1, **options),
    "budget": lambda x, y, **options: L.budget_loss(x, y, 1, **options),
}


def waits_of(function, *tensors):
    """The numbers that a call reads from the device."""
    with elsewhere() as (moved, waits), using("reference"):
        function(*(moved(tensor) for tensor in tensors))
        return [wait for wait in waits if "_local_scalar_dense" in wait]


@pytest.mark.thinned("name", "target")
@pytest.mark.parametrize("target", [CLASSES, POINTS], ids=["classes", "points"])
@pytest.mark.parametrize("name", OF_VECTORS)
def test_losses_of_vectors(name, target):
    assert waits_of(lambda x, y: OF_VECTORS[name](x, y, validate_args=False), SCORES, target) == []
    assert len(waits_of(OF_VECTORS[name], SCORES, target)) == 1


def test_a_tensor_as_parameter():
    alphas = torch.tensor([[1.5], [2.0]])
    assert len(waits_of(L.entmax_loss, SCORES, CLASSES, alphas)) == 2
    assert waits_of(lambda *given: L.entmax_loss(*given, validate_args=False), SCORES, CLASSES, alphas) == []


def test_the_default_is_that_of_strukt():
    def loss(x, target):
        return L.sparsemax_loss(x, target)

    set_default_validate_args(False)
    try:
        assert waits_of(loss, SCORES, POINTS) == []
    finally:
        set_default_validate_args(True)
    assert waits_of(loss, SCORES, POINTS) != []


@pytest.mark.parametrize("target", [torch.tensor([[0, 1]]), POINTS[None]], ids=["event", "marginals"])
@pytest.mark.parametrize("cost", [None, "hamming", torch.ones(1, 2, 3)], ids=["no cost", "hamming", "tensor"])
def test_losses_of_structures(target, cost):
    def loss(validate_args, unary, transition, target, *costs):
        chain = LinearChain(unary, transition, validate_args=validate_args)
        return L.fenchel_young_loss(chain, target, cost=costs[0] if costs else cost)

    costs = [cost] if isinstance(cost, torch.Tensor) else []
    given = SCORES[None], torch.zeros(3, 3), target, *costs
    assert waits_of(lambda *tensors: loss(False, *tensors), *given) == []
    assert waits_of(lambda *tensors: loss(True, *tensors), *given) != []


@pytest.mark.parametrize("where", ["device", "host"])
def test_ctc(where):
    log_probs, targets = torch.randn(5, 2, 4).log_softmax(-1), torch.tensor([[1, 2], [3, 1]])
    sizes = torch.tensor([5, 4]), torch.tensor([2, 1])

    def loss(log_probs, targets, *lengths):
        return L.ctc_loss(log_probs, targets, *(lengths or sizes), validate_args=False)

    there = sizes if where == "device" else ()
    assert waits_of(loss, log_probs, targets, *there) == []
    concatenated = torch.tensor([1, 2, 3])
    assert (waits_of(loss, log_probs, concatenated, *there) == []) == (where == "host")


def test_rnnt():
    logits, targets = torch.randn(2, 3, 3, 4), torch.tensor([[1, 2], [3, 1]])

    def loss(logits, targets):
        return L.rnnt_loss(
            logits, targets, [3, 2], [2, 1], blank=0, fused_log_softmax=False, validate_args=False
        )

    assert waits_of(loss, logits, targets) == []
    made = waits_of(lambda *given: Transducer.from_logits(*given, validate_args=False), logits, targets)
    assert made == []


def test_classes_on_the_cpu_are_checked_always():
    with pytest.raises(ValueError, match="target holds 3 at batch item 1; expected classes"):
        L.entmax_loss(SCORES, torch.tensor([0, 3]), validate_args=False)


def test_points_are_checked_on_request():
    with pytest.raises(ValueError, match="target holds inf at batch item 0, position 0; expected finite numbers"):
        L.sparsemax_loss(SCORES, POINTS * torch.inf)
    assert L.sparsemax_loss(SCORES, -POINTS, validate_args=False).isfinite()


def test_other_scores_than_those_of_the_marginals_are_named():
    target, transition = POINTS[None], torch.zeros(3, 3)
    transition[1, 2] = 2.0
    message = r"transition holds 2\.0 at .*; expected 0, as the target holds marginals of unary alone; else give"
    with pytest.raises(ValueError, match=message):
        L.fenchel_young_loss(LinearChain(SCORES[None], transition), target)
    assert L.fenchel_young_loss(LinearChain(SCORES[None], transition, validate_args=False), target).isfinite()


@pytest.mark.filterwarnings("ignore:.*should not be instantiated")  # of PyTorch itself
def test_marginals_as_targets_in_graphs_and_maps():
    def loss(unary, target):
        return L.fenchel_young_loss(LinearChain(unary, torch.zeros(3, 3)), target)

    expected = loss(SCORES[None], POINTS[None])
    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(SCORES[None], POINTS[None]), expected)
    torch.testing.assert_close(torch.func.vmap(loss)(SCORES[None], POINTS[None]), expected)
