"""What a first question imports."""

import subprocess
import sys

PROGRAM = """
import sys, torch, strukt
assert "sympy" not in sys.modules, "PyTorch itself imports it"
chain = strukt.LinearChain(torch.randn(2, 4, 3, requires_grad=True), torch.zeros(3, 3), [4, 2])
trees = strukt.NonProjectiveTree(torch.randn(2, 4, 5))
for question in (
    lambda: chain.topk(2),
    lambda: chain.log_prob(chain.mode).sum().backward(),
    lambda: trees.log_prob(trees.sample((5,))),
):
    question()
    print(*sorted({"sympy", "torch._dynamo"} & sys.modules.keys()))
"""


def test_first_questions_do_not_import_sympy():
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (done.stdout.split("\n"), done.returncode) == ([""] * 4, 0), done.stderr
