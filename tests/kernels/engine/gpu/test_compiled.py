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
    "kbest.kbest",
    "inside_outside.inside",
    "inside_outside.outside",
}
OF_TERMS = {"best.weights_of_terms", "growth.weights_of_terms", "inside_outside.weights_of_terms"}

TILES = {
    "gpu_tiles.add_pairs", "gpu_tiles.inside", "gpu_tiles.measure", "gpu_tiles.outside",
    "gpu_tiles.viterbi", "gpu_viterbi.walk",
}  # fmt: skip

SCAN = {
    "gpu_scan.multiply_blocks", "gpu_scan.sweep", "gpu_scan_backward.outside", "gpu_scan_derivative.derivative",
    "gpu_scan_growth.multiply_blocks", "gpu_scan_growth.sweep", "gpu_scan_surprises.surprises",
    "gpu_scan_viterbi.inside", "gpu_scan_viterbi.multiply_blocks", "gpu_scan_viterbi.sweep",
    "gpu_scan_viterbi.walk", "gpu_scan_viterbi.walk_borders",
}  # fmt: skip

EVENTS = {
    "gpu_sequences.tag_places", "gpu_sums.log_prob", "gpu_sums.opposites", "gpu_sums.subtract",
}  # fmt: skip

EXPECTED = {
    "ProjectiveTree": OF_CELLS,
    "ProjectiveTree, a step": {"best.choose", "best.inside", "inside_outside.inside", "inside_outside.outside"},
    "BitSpanTree": OF_CELLS,
    "LinearChain": OF_CELLS | OF_TERMS | {
        "gpu_backward.outside", "gpu_viterbi.inside", "gpu_viterbi.walk", "gpu_forward.inside",
    },
    "256 tags": TILES | EVENTS,
    "512 tags": TILES | EVENTS,
    "long, 16 tags": SCAN | EVENTS,
    "NonProjectiveTree": {
        "gpu_matrix_tree.derivative", "gpu_matrix_tree.entropy", "gpu_matrix_tree.inside",
        "gpu_matrix_tree.outside", "gpu_chu_liu_edmonds.best", "gpu_max_marginals.max_marginals",
        "gpu_wilson.walk", "gpu_wilson.write_shares", "gpu_sequences.alternative_places",
    },
    "SpanningTree": {"gpu_prim.best"},
    "LowRankPCFG": {"gpu_sample.walk"},
    "CTC": {
        "gpu_viterbi.best", "gpu_forward_backward.add_labels", "gpu_forward_backward.inside",
        "gpu_forward_backward.outside", "gpu_states.write_states",
    },
    "PCFG": {
        "gpu_cky.close", "gpu_cky.multiply", "gpu_cky.walk", "gpu_cky_outside.slopes", "gpu_dual_inside.close",
        "gpu_dual_outside.slopes", "gpu_inside.close", "gpu_kbest.kbest", "gpu_moves.move",
        "gpu_moves.plain_moves", "gpu_outside.slopes", "gpu_products.multiply", "gpu_products.plain_products",
        "gpu_products.split", "gpu_sample.walk",
    },
}  # fmt: skip

SPILLED = {"90": 24, "80": 88}
"""The most bytes of registers that a thread of any kernel spills; a thread of most kernels spills none."""

LARGEST = {"90": 232_448, "80": 166_912}
"""The bytes of shared memory that a program can have."""

CASES = list(itertools.product(("90", "80"), EXPECTED, ("float32", "float64")))

QUICK = ("90", "ProjectiveTree, a step", "float32")
"""What is compiled without `--slow`: the kernels of a training step and of a prediction."""


@pytest.mark.parametrize(
    ("capability", "structure", "dtype"),
    [pytest.param(*case, marks=() if case == QUICK else pytest.mark.slow) for case in CASES],
)
def test_launches_compile(capability, structure, dtype):
    kernels = launched("kernels.engine.gpu", capability, structure, dtype)
    assert {kernel["kernel"] for kernel in kernels} >= EXPECTED[structure]
    assert [kernel for kernel in kernels if kernel["tf32"]] == []
    assert [kernel for kernel in kernels if kernel["spilled"] > SPILLED[capability]] == []
    assert [kernel for kernel in kernels if kernel["shared"] > LARGEST[capability]] == []


OTHERS = {
    "kernels.sparsemax_entmax": {
        "gpu_backward.pull", "gpu_forward.entmax", "gpu_gain.gain", "gpu_gain.residual", "gpu_variation.variation",
    },
    "structures.events": {
        "gpu_look.find_odd", "gpu_paths.are_paths", "gpu_paths.path_places", "gpu_sequences.alternative_places",
        "gpu_sequences.are_frames", "gpu_sequences.are_segmentations", "gpu_sequences.in_range",
        "gpu_sequences.segment_places", "gpu_sequences.tag_places", "gpu_trees.are_dependency_trees",
        "gpu_trees.bit_places", "gpu_trees.read_spans",
    },
}  # fmt: skip
"""Packages with launches of their own, and all their kernels."""

STACK = {("kernels.sparsemax_entmax", "80"): 128}
"""The most bytes of a stack where there is one; other kernels keep all in registers."""


@pytest.mark.slow
@pytest.mark.parametrize("capability", ["90", "80"])
@pytest.mark.parametrize("package", OTHERS)
def test_launches_of_other_packages_compile(package, capability):
    kernels = launched(package, capability)
    assert {kernel["kernel"] for kernel in kernels} == OTHERS[package]
    assert max(kernel["stack"] for kernel in kernels) <= STACK.get((package, capability), 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("structure", "kernel"), [("256 tags", "gpu_tiles.add_pairs"), ("PCFG", "gpu_products.multiply")]
)
def test_products_of_matrices_use_tf32_on_request(structure, kernel):
    kernels = launched("kernels.engine.gpu", "90", structure, "float32", "high")
    assert {each["kernel"] for each in kernels if each["tf32"]} == {kernel}


def launched(package, *arguments):
    """The kernels that `compile_launches` of a package of these tests reports for some arguments."""
    command = [sys.executable, "-W", "error:TRITON", "-m", f"tests.{package}.compile_launches", *arguments]
    environment = {**os.environ, "TRITON_INTERPRET": "0", "PYTHONPATH": os.pathsep.join([*sys.path, str(ROOT)])}
    result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=environment)
    assert result.returncode == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]
