"""Kernels of events become machine code for GPUs that are not there, and keep nothing outside of registers."""

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
    "gpu_look.find_odd", "gpu_paths.are_paths", "gpu_paths.path_places", "gpu_sequences.alternative_places",
    "gpu_sequences.are_frames", "gpu_sequences.are_segmentations", "gpu_sequences.in_range",
    "gpu_sequences.segment_places", "gpu_sequences.tag_places", "gpu_trees.are_dependency_trees",
    "gpu_trees.bit_places", "gpu_trees.read_spans",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("capability", ["90", "80"])
def test_launches_compile(capability):
    command = [sys.executable, "-m", "tests.structures.events.compile_launches", capability]
    environment = {**os.environ, "TRITON_INTERPRET": "0", "PYTHONPATH": os.pathsep.join([*sys.path, str(ROOT)])}
    result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=environment)
    assert result.returncode == 0, result.stderr
    kernels = [json.loads(line) for line in result.stdout.splitlines()]
    assert {kernel["kernel"] for kernel in kernels} == KERNELS
    assert [kernel for kernel in kernels if kernel["stack"]] == []
