"""The answers of all backends to a question about events; GPUs are Triton's interpreter where there are none."""

import torch
from tests.kernels.engine.gpu.device import DEVICE, by_kernels, runs

from strukt.structures.events import cpu, reference


def answers(question, *arguments):
    """What the reference answers, what the kernels for CPUs do, and what those for GPUs do, each a tuple."""
    found = [getattr(module, question)(*arguments) for module in (reference, cpu)]
    if runs and arguments[0].numel():
        found.append(_on_gpu(question, *arguments))
    return [(each,) if isinstance(each, torch.Tensor) else each for each in found]


def _on_gpu(question, *arguments):
    from strukt.structures.events import gpu

    moved = (each.to(DEVICE) if isinstance(each, torch.Tensor) else each for each in arguments)
    found = by_kernels(getattr(gpu, question), *moved)
    return found.cpu() if isinstance(found, torch.Tensor) else tuple(each.cpu() for each in found)
