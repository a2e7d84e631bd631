"""Derivatives in float32 are differences of numbers that are far larger, and keep their digits."""

import pytest
import torch
from tests.kernels.engine.gpu.device import ON_GPU, TABLES, by_kernels, needed, on_device

pytestmark = needed

COMMON = 1e5
"""What all scores gain besides a few units; a float32 then keeps two digits of these."""

PLAIN = {
    subject.name.split(",")[0]: subject
    for subject in TABLES
    if "labelled" not in subject.name and not subject.name.startswith("Bit")
}
"""One structure of each kind without labels of parts, whose mean gain is a float32."""

QUICK = {"SpanTree"}


def direction(score, generator):
    """A direction of scores, the same for all types and on all devices."""
    units = torch.randn(score.shape, generator=generator, dtype=torch.float64)
    return (COMMON + units).float().to(score.device, score.dtype)


def turned_marginals(case):
    """The gradient of <marginals, direction> with respect to the scores."""
    generator = torch.Generator().manual_seed(3)
    log_partition = case.distribution(validate_args=False).log_partition
    grads = torch.autograd.grad(log_partition.sum(), case.scores, create_graph=True)
    total = sum((grad * direction(grad, generator)).sum() for grad in grads)
    return [grad.cpu().double() for grad in torch.autograd.grad(total, case.scores)]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if ON_GPU or name in QUICK else pytest.mark.slow) for name in PLAIN]
)
def test_what_all_structures_gain_is_not_in_the_way(name):
    """Structures of as many parts gain the same, so that only the units count; others differ by whole gains."""
    case = PLAIN[name].case((2,), size=4).map(torch.Tensor.float)
    exact = turned_marginals(case.map(torch.Tensor.double).leaves())
    found = by_kernels(turned_marginals, on_device(case))
    largest = max(each.abs().max() for each in exact)
    for mine, right in zip(found, exact, strict=True):
        assert (mine - right).abs().max() <= 1e-5 * largest
