"""No kernel reads or writes outside of its tensors: NVIDIA's compute-sanitizer, of the CUDA toolkit, sees it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.kernels.engine.gpu.device import needed

SANITIZER = shutil.which("compute-sanitizer") or ""
ROOT = Path(__file__).parents[4]

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.slow,
    needed,
    pytest.mark.skipif(not SANITIZER, reason="needs compute-sanitizer, of the CUDA toolkit"),
]


@pytest.mark.parametrize(
    ("file", "tests"),
    [
        ("tests/kernels/engine/gpu/test_middling_sizes.py", "equal_those_of_the_cpu or structures"),
        ("tests/structures/linear_chain", "test_gpu and long_chains or many_tags"),
        ("tests/kernels/sparsemax_entmax/test_gpu.py", "not equal_bits"),
    ],
)
def test_every_access_is_within_a_tensor(file, tests):
    """Without PyTorch's cache every tensor is memory of its own, so that nothing else lies behind it."""
    command = [
        SANITIZER, "--tool", "memcheck", "--error-exitcode", "9",
        sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", file, "-k", tests,
    ]  # fmt: skip
    environment = {**os.environ, "PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
    result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=environment)
    assert result.returncode == 0, result.stdout[-5000:]
