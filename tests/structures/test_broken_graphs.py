"""What breaks compiled graphs (docs/concepts/compiling.md) gives the same results without `fullgraph`."""

import pytest
import torch

from strukt import LinearChain

TRANSITION = torch.zeros(3, 3)
BREAKING = {
    "sparsemap": lambda unary: LinearChain(unary, TRANSITION).sparsemap().marginals,
    "sample_without_replacement": lambda unary: (
        LinearChain(unary, TRANSITION).sample_without_replacement(9).double().sort(1).values + 0 * unary.sum()
    ),
    "spigot": lambda unary: LinearChain(unary, TRANSITION).mode_parts("spigot"),
    "perceptron": lambda unary: LinearChain(unary, TRANSITION).mode_parts("perceptron"),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of torch.compile, about tensors between the graphs
@pytest.mark.parametrize("name", BREAKING)
def test_what_breaks_the_graph_compiles_without_fullgraph(name):
    unary = torch.randn(2, 2, 3, generator=torch.Generator().manual_seed(0), requires_grad=True)
    torch.compiler.reset()
    value, expected = torch.compile(BREAKING[name], backend="aot_eager")(unary), BREAKING[name](unary)
    torch.testing.assert_close(value, expected)
    gradients = [torch.autograd.grad(each.square().sum(), unary)[0] for each in (value, expected)]
    torch.testing.assert_close(*gradients)
