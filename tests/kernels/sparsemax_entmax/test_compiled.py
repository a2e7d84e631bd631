"""Kernels become machine code for GPUs that are not there, and rows stay in registers."""

import pytest
from tests.kernels.engine.gpu.test_compiled import launched

from strukt.kernels.engine.gpu import available

pytestmark = pytest.mark.skipif(available.broken() is not None, reason=str(available.broken()))

KERNELS = {
    "gpu_backward.pull", "gpu_forward.entmax", "gpu_gain.gain", "gpu_gain.residual", "gpu_variation.variation",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("capability", "stack"), [("90", 0), ("80", 128)])
def test_launches_compile(capability, stack):
    kernels = launched("sparsemax_entmax", capability)
    assert {kernel["kernel"] for kernel in kernels} == KERNELS
    assert max(kernel["stack"] for kernel in kernels) <= stack  # bytes of a thread
