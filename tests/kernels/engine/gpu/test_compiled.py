"""Kernels become machine code for GPUs that are not there, and registers hold what they keep."""

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from strukt.kernels.engine.gpu import available

pytestmark = pytest.mark.skipif(available.broken() is not None, reason=str(available.broken()))

ROOT = Path(__file__).parents[4]

OF_CELLS = {
    "best.choose",
    "best.inside",
    "best.outside",
    "growth.inside",
    "growth.outside",
    "numbers.split",
    "sums.inside",
    "sums.outside",
}
OF_CTC = {"gpu_best.best", "gpu_sums.add_labels", "gpu_sums.inside", "gpu_sums.outside"}
OF_TERMS = {"best.weights_of_terms", "growth.weights_of_terms", "sums.weights_of_terms"}

CASES = list(itertools.product(("90", "80"), ("ProjectiveTree", "LinearChain"), ("float32", "float64")))
OF_ONE_STRUCTURE = list(itertools.product(("90", "80"), ("float32", "float64")))


@pytest.mark.parametrize(
    ("capability", "structure", "dtype"),
    [pytest.param(*case, marks=pytest.mark.slow if index else ()) for index, case in enumerate(CASES)],
)
def test_launches_compile(capability, structure, dtype):
    kernels = compiled(capability, structure, dtype)
    expected = OF_CELLS | (OF_TERMS if structure == "LinearChain" else set())
    assert {kernel["kernel"] for kernel in kernels} >= expected
    assert max(kernel["stack"] for kernel in kernels) <= 128  # bytes of a thread


@pytest.mark.parametrize(
    ("capability", "dtype"),
    [pytest.param(*case, marks=pytest.mark.slow if index else ()) for index, case in enumerate(OF_ONE_STRUCTURE)],
)
def test_kernels_of_ctc_keep_all_numbers_in_registers(capability, dtype):
    kernels = compiled(capability, "CTC", dtype)
    assert {kernel["kernel"] for kernel in kernels} == OF_CTC
    assert all(kernel["stack"] == 0 and kernel["reg"] < 255 for kernel in kernels), kernels


def compiled(capability, structure, dtype):
    """What the questions about a structure launch, with registers and stack."""
    command = [sys.executable, "-m", "tests.kernels.engine.gpu.compile_launches", capability, structure, dtype]
    environment = {**os.environ, "TRITON_INTERPRET": "0", "PYTHONPATH": os.pathsep.join([*sys.path, str(ROOT)])}
    found = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=environment)
    assert found.returncode == 0, found.stderr
    return [json.loads(line) for line in found.stdout.splitlines()]
