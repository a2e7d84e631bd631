"""A checkpointed chain on a GPU, or else in Triton's interpreter, says what the plain one says on a CPU."""

import torch
from tests.kernels.engine.gpu.device import DEVICE, by_kernels, needed
from torch import Tensor

from strukt.distributions import CheckpointedChain, LinearChain

pytestmark = needed


def test_it_equals_the_plain_chain():
    generator = torch.Generator().manual_seed(0)
    scores = tuple(torch.randn(*shape, generator=generator) for shape in ((3, 3, 2), (2, 2)))

    def found(kind: type[LinearChain], device: str) -> list[Tensor]:
        leaves = [score.to(device, copy=True).requires_grad_() for score in scores]
        chain = kind(*leaves, [3, 2, 0], validate_args=False)
        total, entropy = chain.log_partition, chain.entropy()
        grads = torch.autograd.grad(total.sum() + chain.marginals.square().sum(), leaves)
        return [each.detach().cpu() for each in (total, entropy, chain.mode, chain.topk(2).events, *grads)]

    mine = by_kernels(found, CheckpointedChain, DEVICE)
    for value, right in zip(mine, found(LinearChain, "cpu"), strict=True):
        assert torch.allclose(value, right, 1e-5, 1e-5)
