"""SparseMAP of structures with kernels for their modes stays on the GPU, with the results of the CPU."""

import pytest
import torch
from tests.kernels.engine.gpu.device import DEVICE, LAST, SLOW, by_kernels, needed, on_device

from strukt.distributions import LinearChain
from strukt.errors import InfeasibleError
from strukt.structures.batched import BatchedTensors
from strukt.testing.subjects import STRUCTURES

pytestmark = needed

ON_EDGES = {
    subject.name.split(",")[0]: subject
    for subject in STRUCTURES
    if subject.name.split(",")[0] in ("NonProjectiveTree", "SpanningTree") and "labelled" not in subject.name
}
"""Trees that have kernels for their modes, but no table."""

HAS_MODE = LAST | ON_EDGES


def derivatives(case, **options):
    """SparseMAP, the gradient of a loss, and the gradient of its square."""
    result = case.distribution().sparsemap(**options)
    marginals = result.marginals.flatten()
    factors = torch.linspace(-1, 1, len(marginals), dtype=torch.float64, device=DEVICE).to(marginals)
    loss = (marginals.square() * factors).sum()
    grads = torch.autograd.grad(loss, case.scores, create_graph=True)
    total = sum(grad.square().sum() for grad in grads)
    return result, (*grads, *torch.autograd.grad(total, case.scores))


def refuse(self):
    raise AssertionError("tensors were moved to the CPU")


@pytest.mark.parametrize("dtype", [torch.float64, pytest.param(torch.float32, marks=SLOW)], ids=str)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in ("LinearChain", "SpanningTree") else SLOW)
        for name in HAS_MODE
    ],
)
def test_equal_that_of_the_cpu(name, dtype, monkeypatch):
    case = HAS_MODE[name].case((3,), lengths=[3, 1, 0], size=3).map(lambda score: score.to(dtype))
    expected, right = derivatives(case.leaves())
    monkeypatch.setattr(BatchedTensors, "_on_cpu", refuse)
    found, mine = by_kernels(derivatives, on_device(case))
    tolerance = 1e-5 if dtype == torch.float32 else 1e-10
    assert found.marginals.device.type == found.events.device.type == DEVICE
    assert torch.equal(found.iterations.cpu(), expected.iterations)
    for here, there in zip((found.marginals, *mine), (expected.marginals, *right), strict=True):
        assert here.dtype == dtype
        assert torch.allclose(here.cpu(), there, rtol=tolerance, atol=tolerance)


def test_it_starts_from_an_earlier_result_and_keeps_a_bound():
    case = on_device(LAST["LinearChain"].case((2,), size=3))

    def results():
        chains = case.distribution()
        return chains.sparsemap(max_iterations=1), chains.sparsemap(start=chains.sparsemap())

    stopped, resumed = by_kernels(results)
    assert not stopped.status.any()
    assert resumed.status.all()
    exact = LAST["LinearChain"].case((2,), size=3).distribution().sparsemap()
    assert torch.allclose(resumed.marginals.cpu(), exact.marginals)


def test_items_that_are_infeasible_are_named():
    unary = torch.zeros(2, 2, 2)
    unary[1, 0] = -torch.inf
    with pytest.raises(InfeasibleError, match="batch item 1"):
        by_kernels(LinearChain(unary.to(DEVICE), torch.zeros(2, 2, device=DEVICE)).sparsemap)
