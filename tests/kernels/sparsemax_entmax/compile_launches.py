"""Compile the kernels of sparse mappings for a GPU that is not there; print what comes out.

Run as `python -m tests.kernels.sparsemax_entmax.compile_launches CAPABILITY`: lines of JSON as those of
`tests.kernels.engine.gpu.compile_launches`.
"""

import json
import sys

import torch
from tests.kernels.engine.gpu.compile_launches import compiled, usage

from strukt.losses import sparsemax_loss
from strukt.mappings import entmax, entmax15, fusedmax, sparsemax

LENGTHS = {torch.float32: (512, 1 << 15, 1 << 17), torch.float64: (1 << 13, 1 << 15)}


def launch():
    for dtype, lengths in LENGTHS.items():
        fusedmax(torch.zeros(8, 64, dtype=dtype))
        for d in lengths:
            scores = torch.zeros(8, d, dtype=dtype, requires_grad=True)
            for mapping in (sparsemax, entmax15, lambda scores: entmax(scores, 1.3)):
                value = mapping(scores)
                torch.autograd.grad(value, scores, torch.ones_like(value))
            loss = sparsemax_loss(scores, torch.zeros(8, dtype=torch.int64))
            torch.autograd.grad(loss, scores)


if __name__ == "__main__":
    for name, kernel in compiled(sys.argv[1], launch):
        print(json.dumps({"kernel": name, **usage(kernel)}))
