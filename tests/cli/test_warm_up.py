"""What is warmed up need not be compiled any more."""

import os
import subprocess
import sys

import pytest

from strukt.cli import self_check, warm_up
from strukt.cli.main import main
from strukt.kernels import jit


def test_each_step_is_told(monkeypatch, capsys):
    done = []
    monkeypatch.setattr(
        warm_up, "kernels", lambda: [("Chain", lambda: done.append(1)), ("Tree", lambda: done.append(2))]
    )
    assert main(["warm-up"]) == 0
    assert done == [1, 2]
    said = capsys.readouterr()
    assert said.out == ""
    first, *steps, last = said.err.splitlines()
    assert first.startswith("compiling kernels, once for this environment")
    assert [step.split(",")[0] for step in steps] == ["1/2 Chain", "2/2 Tree"]
    assert last.startswith("compiled all kernels")


def test_all_structures_mappings_and_graphs_are_among_it():
    names = [name for name, _ in warm_up.kernels()]
    assert {*self_check.STRUCTURES, "HMM", "FactorGraph"} <= {*names}


@pytest.mark.parametrize(
    "name",
    ["sparsemax", pytest.param("LinearChain, shared transition", marks=pytest.mark.slow)],
)
def test_it_asks_in_both_precisions(name, monkeypatch):
    dtypes = []
    make = self_check.STRUCTURES[name]
    monkeypatch.setitem(
        self_check.STRUCTURES, name, lambda dtype: (dtypes.append(str(dtype)), make(dtype))[1]
    )
    dict(warm_up.kernels())[name]()
    assert dtypes == ["torch.float32", "torch.float64"]


def test_without_a_compiler_it_says_so(monkeypatch, capsys):
    monkeypatch.setattr(jit, "UNAVAILABLE", "numba cannot be imported (no)")
    assert main(["warm-up"]) == 2
    assert (
        "error: kernels cannot be compiled: numba cannot be imported (no)"
        in capsys.readouterr().err
    )


WARM = "from strukt.cli import warm_up; dict(warm_up.kernels())['LinearChain, shared transition']()"
USE = """
import torch
from numba.core import event
import strukt
with event.install_recorder("numba:compile") as compiled:
    for dtype in (torch.float32, torch.float64):
        unary = torch.randn(3, 9, 5, dtype=dtype, requires_grad=True)
        chain = strukt.LinearChain(unary, torch.randn(5, 5, dtype=dtype))
        chain.log_prob(chain.mode).sum().backward()
        chain.marginals, chain.sample((4,)), chain.topk(4), chain.sparsemap(), chain.entropy()
print(len(compiled.buffer))
"""


@pytest.mark.slow
def test_nothing_is_compiled_in_a_later_process(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", WARM], env=environment, check=True)
    done = subprocess.run(
        [sys.executable, "-c", USE], env=environment, check=True, capture_output=True, text=True
    )
    assert done.stdout == "0\n"
