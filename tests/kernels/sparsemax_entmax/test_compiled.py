"""Kernels become machine code for GPUs that are not there, and rows stay in registers."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from strukt.kernels.engine.gpu import available

pytestmark = pytest.mark.skipif(available.broken() is not None, reason=str(available.broken()))

ROOT = Path(__file__).parents[3]

KERNELS = {
    "gpu_backward.pull", "gpu_forward.entmax", "gpu_gain.gain", "gpu_gain.residual", "gpu_variation.variation",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("capability", "stack"), [("90", 0), ("80", 128)])
def test_launches_compile(capability, stack):
    command = [sys.executable, "-m", "tests.kernels.sparsemax_entmax.compile_launches", capability]
    environment = {**os.environ, "TRITON_INTERPRET": "0", "PYTHONPATH": os.pathsep.join([*sys.path, str(ROOT)])}
    result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=environment)
    assert result.returncode == 0, result.stderr
    kernels = [json.loads(line) for line in result.stdout.splitlines()]
    assert {kernel["kernel"] for kernel in kernels} == KERNELS
    assert max(kernel["stack"] for kernel in kernels) <= stack  # bytes of a thread
