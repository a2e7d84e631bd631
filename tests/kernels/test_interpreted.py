"""Kernels as plain Python: the same answers, and nothing is compiled."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import torch

from strukt import BitSpanTree, LinearChain, NonProjectiveTree, ProjectiveTree, SpanTree
from strukt.kernels import dispatch, elementary, jit
from strukt.kernels.interpreted import current, interpreting
from strukt.structures.non_projective_tree import chu_liu_edmonds

pytestmark = pytest.mark.skipif(
    dispatch.backends()["cpu"] != "available", reason=f"no compiled kernels: {dispatch.backends()['cpu']}"
)

N = 5
GENERATOR = torch.Generator().manual_seed(0)


def scores(*shape):
    return torch.randn(shape, generator=GENERATOR, dtype=torch.float64)


STRUCTURES = {
    "LinearChain": LinearChain(scores(2, N, 3), scores(3, 3)),
    "NonProjectiveTree": NonProjectiveTree(scores(2, N, N + 1)),
    "ProjectiveTree": ProjectiveTree(scores(2, N, N + 1)),
    "SpanTree": SpanTree(scores(2, N + 1, N + 1, 3)),
    "BitSpanTree": BitSpanTree(scores(2, N + 1, N + 1, 3)),
}
QUESTIONS = {
    "mode": lambda d: d.mode,
    "log_partition": lambda d: d.log_partition,
    "marginals": lambda d: d.marginals,
    "topk": lambda d: d.topk(4)[0],
    "sparsemap": lambda d: d.sparsemap().marginals,
    "sample": lambda d: d.sample((3,)),
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("name", STRUCTURES)
def test_answers_are_the_same(name, question):
    structure = STRUCTURES[name]
    with dispatch.uncompiled():
        found = QUESTIONS[question](structure)
    if question == "sample":  # of other random numbers
        assert structure.log_prob(found).isfinite().all()
    else:
        torch.testing.assert_close(found, QUESTIONS[question](structure), rtol=1e-8, atol=1e-8)


WORK = """
from numba.core import event
from strukt.kernels import dispatch
from tests.kernels.test_interpreted import QUESTIONS, STRUCTURES
with event.install_recorder("numba:compile") as compiled, dispatch.uncompiled():
    for structure in STRUCTURES.values():
        for question in QUESTIONS.values():
            question(structure)
print(len(compiled.buffer))
"""


@pytest.mark.slow
def test_no_kernel_is_compiled_or_loaded_for_them(tmp_path):
    """In a process of its own, with an empty cache."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", WORK],
        env=environment,
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
    )
    assert done.stdout == "0\n", done.stderr
    assert list(tmp_path.rglob("*.nbi")) == []


def test_nothing_is_compiled():
    """In a kernel that was never called."""

    @jit.kernel
    def double(values, start, step):
        for i in range(start, len(values), step):
            values[i] = 2.0 * elementary.exp(values[i])

    values = np.zeros(3)
    with interpreting():
        jit.over_batch(double, 2, values)
    assert values.tolist() == [2.0] * 3
    assert double.signatures == []
    jit.over_batch(double, 1, values)
    assert len(double.signatures) == 1


@pytest.mark.parametrize("name", ["exp", "log", "log1p"])
def test_elementary_functions_are_those_of_numpy(name):
    with interpreting():
        assert current(getattr(elementary, name))(2.0) == getattr(np, name)(2.0)


def test_a_kernel_is_itself_elsewhere_and_in_other_threads():
    assert current(chu_liu_edmonds.best_tree) is chu_liu_edmonds.best_tree
    found = []
    with interpreting():
        assert current(chu_liu_edmonds.best_tree) is not chu_liu_edmonds.best_tree
        thread = threading.Thread(target=lambda: found.append(current(chu_liu_edmonds.best_tree)))
        thread.start()
        thread.join()
        assert current(len) is len
    assert found == [chu_liu_edmonds.best_tree]
