"""What a first question imports."""

import subprocess
import sys

import pytest

PROGRAM = """
import sys, torch, strukt
assert "sympy" not in sys.modules, "PyTorch itself imports it"
chain = strukt.LinearChain(torch.randn(2, 4, 3, requires_grad=True), torch.zeros(3, 3), [4, 2])
trees = strukt.NonProjectiveTree(torch.randn(2, 4, 5))
{question}
print(*sorted({{"sympy", "torch._dynamo"}} & sys.modules.keys()))
"""


@pytest.mark.parametrize(
    "question",
    ["chain.topk(2)", "chain.log_prob(chain.mode).sum().backward()", "trees.log_prob(trees.sample((5,)))"],
)
def test_a_first_question_does_not_import_sympy(question):
    command = [sys.executable, "-c", PROGRAM.format(question=question)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (done.stdout.strip(), done.returncode) == ("", 0), done.stderr
