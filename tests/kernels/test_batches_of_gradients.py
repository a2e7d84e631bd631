"""Batches of gradients (``is_grads_batched``), as in ``torch.autograd.functional.jacobian(vectorize=True)``."""

import pytest
import torch
from torch.autograd.functional import jacobian

from strukt.distributions import LinearChain, NonProjectiveTree
from strukt.kernels import dispatch
from strukt.losses import entmax_loss
from strukt.mappings import entmax, fusedmax


def chain(scores):
    return LinearChain(scores, torch.linspace(-1, 1, 9, dtype=scores.dtype).view(3, 3))


FUNCTIONS = {
    "log-partition": lambda scores: chain(scores).log_partition,
    "marginals": lambda scores: chain(scores).marginals[:, 0],
    "entropy": lambda scores: chain(scores).entropy(),
    "log-probability": lambda scores: chain(scores).log_prob(torch.tensor([0, 2])),
    "trees": lambda scores: NonProjectiveTree(scores[..., :2, :]).log_partition,
    "entmax": lambda scores: entmax(scores[0], 1.5),
    "softmax": lambda scores: entmax(scores[0], 1.0),
    "fusedmax": lambda scores: fusedmax(scores[0], 0.1).square(),
    "loss": lambda scores: entmax_loss(scores[0], torch.tensor([0, 1]), reduction="none"),
}


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_they_can_be_differentiated_again(function, backend):
    scores = torch.randn(2, 2, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).requires_grad_()
    with dispatch.using(backend):
        mapped, right = (
            jacobian(function, scores, create_graph=True, vectorize=vectorize) for vectorize in (True, False)
        )
        torch.testing.assert_close(mapped, right)
        weights = torch.linspace(-1, 1, right.numel(), dtype=right.dtype).view_as(right)
        (gradient,) = torch.autograd.grad(mapped, scores, weights)
        torch.testing.assert_close(gradient, torch.autograd.grad(right, scores, weights)[0])
        assert gradient.any()


@pytest.mark.filterwarnings("ignore:.*torch.jit.script. is deprecated:DeprecationWarning")  # PyTorch's own
@pytest.mark.filterwarnings("ignore:.*should not be instantiated")  # by torch.compile
@pytest.mark.parametrize("name", ["entmax", "fusedmax", "loss"])
def test_the_question_for_batches_does_not_break_compiled_graphs(name):
    scores = torch.randn(2, 2, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).requires_grad_()
    function = FUNCTIONS[name]
    compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
    found, right = (torch.autograd.grad(each(scores).square().sum(), scores)[0] for each in (compiled, function))
    torch.testing.assert_close(found, right)
