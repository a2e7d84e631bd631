"""What a first question imports."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import sys, torch, strukt
assert "sympy" not in sys.modules, "PyTorch itself imports it"
chain = strukt.LinearChain(torch.randn(2, 4, 3, requires_grad=True), torch.zeros(3, 3), [4, 2])
trees = strukt.NonProjectiveTree(torch.randn(2, 4, 5))
for question in (
    lambda: chain.topk(2),
    lambda: chain.marginals,
    lambda: chain.log_prob(chain.mode).sum().backward(),
    lambda: trees.log_prob(trees.sample((5,))),
):
    question()
    print(*sorted({"sympy", "torch._dynamo"} & sys.modules.keys()))
"""


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["", pytest.param("reference", marks=pytest.mark.slow)])
def test_first_questions_do_not_import_sympy(backend):
    command, environment = [sys.executable, "-c", PROGRAM], {**os.environ, "STRUKT_BACKEND": backend}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False, env=environment
    )
    assert (done.stdout.split("\n"), done.returncode) == ([""] * 5, 0), done.stderr
