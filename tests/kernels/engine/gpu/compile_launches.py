"""Compile what the questions about some structures launch, for a GPU that is not there; print what comes out.

Run as `python -m tests.kernels.engine.gpu.compile_launches CAPABILITY STRUCTURE TYPE [PRECISION]`: lines of JSON
with the kernel, its registers, the bytes of its stack, those that a thread spills because registers do not hold
them, those of shared memory, and whether it multiplies in TF32. PRECISION is that of PyTorch's products.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.compiler import get_ptxas
from triton.runtime.jit import JITFunction

import strukt
from strukt.kernels.dispatch import using
from strukt.kernels.engine.gpu import available

TOOLS = Path(triton.__file__).parent / "backends" / "nvidia" / "bin"


class Driver:
    """One that knows what it would run on, and runs nothing."""

    def __init__(self, capability):
        self.capability = capability

    def get_current_target(self):
        return GPUTarget("cuda", self.capability, 32)

    def get_current_device(self):
        return 0

    def get_current_stream(self, device):
        return 0

    def is_active(self):
        return True


def usage(kernel):
    """Registers and stack of a compiled kernel, the bytes of registers that a thread spills, and shared memory."""
    capability = int(re.search(r"\.target sm_(\d+)", kernel.asm["ptx"]).group(1))
    with tempfile.TemporaryDirectory() as folder:
        cubin, ptx = Path(folder, "kernel.cubin"), Path(folder, "kernel.ptx")
        cubin.write_bytes(kernel.asm["cubin"])
        ptx.write_text(kernel.asm["ptx"])
        target = re.search(r"\.target (\w+)", kernel.asm["ptx"]).group(1)
        text = output_of(TOOLS / "cuobjdump", "-res-usage", cubin)
        log = output_of(get_ptxas(capability).path, "-v", f"--gpu-name={target}", ptx, "-o", os.devnull)
    sizes = {name.lower(): int(value) for name, value in re.findall(r"(REG|STACK):(\d+)", text)}
    spilled = max(map(int, re.findall(r"(\d+) bytes spill", log)))
    return {**sizes, "spilled": spilled, "shared": kernel.metadata.shared, "tf32": ".tf32" in kernel.asm["ptx"]}


def output_of(*command):
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    return result.stdout + result.stderr


def ask(distribution):
    """Every question that launches kernels of its own."""
    scores = [score for score in distribution.scores if score.requires_grad]
    log_partition, entropy = distribution.log_partition, distribution.entropy()
    grads = torch.autograd.grad(log_partition.sum(), scores, create_graph=True)
    torch.autograd.grad(grads[0].sum(), scores, allow_unused=True)
    torch.autograd.grad(entropy.sum(), scores)
    with torch.no_grad():
        _ = distribution.max_marginals, distribution.mode, distribution.sample((3,))
        distribution.oracles.kbest(*distribution._arguments(), 3)


def ask_of_kernels(distribution):
    """The questions that some structures answer without a table."""
    torch.autograd.grad(distribution.log_partition.sum(), distribution.scores)
    distribution._best()


def ask_of_arcs(distribution):
    """The questions about arcs, also about two distributions, and a training step."""
    ask(distribution)
    heads = torch.zeros(distribution.batch_shape + distribution.event_shape, dtype=torch.int64)
    torch.autograd.grad(distribution.log_prob(heads).sum(), distribution.scores)
    torch.autograd.grad(distribution.cross_entropy(distribution).sum(), distribution.scores)


def ask_of_grammars(distribution):
    """What kernels of grammars answer."""
    scores = distribution.scores
    grads = torch.autograd.grad(distribution.log_partition.sum(), scores, create_graph=True)
    torch.autograd.grad(sum(grad.sum() for grad in grads), scores)
    distribution._best()
    with torch.no_grad():
        _ = distribution.max_marginals
        distribution.oracles.sample(*distribution._arguments(), 3)
        distribution.oracles.kbest(*distribution._arguments(), 3)


def ask_for_the_best(distribution):
    distribution._best()


def ask_for_samples(distribution):
    with torch.no_grad():
        distribution.sample((3,))


OWN = {
    "ProjectiveTree, a step": ask_of_kernels,
    "CTC": ask_of_kernels,
    "PCFG": ask_of_grammars,
    "NonProjectiveTree": ask_of_arcs,
    "SpanningTree": ask_for_the_best,
    "LowRankPCFG": ask_for_samples,
}
"""The questions about structures of which kernels answer some only."""

SHORT = ((3, ()), (3, (2, 2)), (1, (2, 0)))
"""Lengths and the first axes of transitions: one matrix, one a step, and one word; Triton makes constants of 1."""

LONG = ((1024, ()), (1024, (2, 1023)))


def ask_of_long_chains(chain):
    """The gradient of marginals and entropies, which the table answers for other chains."""
    grads = torch.autograd.grad(chain.log_partition.sum(), chain.scores, create_graph=True)
    torch.autograd.grad(sum(grad.sum() for grad in grads), chain.scores)
    torch.autograd.grad(chain.entropy().sum(), chain.scores)


def ask_of_chains(c, dtype, long):
    """The operators of chains of so many tags without a table, and training steps, with their events."""
    for n, transitions in LONG if long else SHORT:
        unary = torch.zeros(2, n, c, dtype=dtype, requires_grad=True)
        transition = torch.zeros(*transitions, c, c, dtype=dtype, requires_grad=True)
        chain = strukt.LinearChain(unary, transition, validate_args=False)
        ask_of_kernels(chain)
        if long:
            ask_of_long_chains(chain)
        torch.autograd.grad(chain.log_prob(torch.zeros(2, n, dtype=torch.int64)).sum(), chain.scores)


def distribution(structure, dtype):
    """One of a size at which tiles are large."""

    def scores(*shape):
        return torch.zeros(shape, dtype=dtype, requires_grad=True)

    if structure == "CTC":  # 257 states
        return strukt.CTC(scores(2, 300, 40), torch.ones(2, 128, dtype=torch.int64), validate_args=False)
    if structure == "PCFG":  # tiles of 32 spans
        return strukt.PCFG(
            scores(40), scores(40, 90, 90), scores(2, 20, 50), spans=scores(2, 21, 21, 90), validate_args=False
        )
    if structure == "LowRankPCFG":
        symbols = scores(50, 70), scores(50, 70)
        return strukt.LowRankPCFG(scores(30), *symbols, scores(30, 50), scores(2, 9, 40), validate_args=False)
    if structure == "SpanningTree":
        return strukt.SpanningTree(scores(2, 40, 40), validate_args=False)
    if structure == "BitSpanTree":
        return strukt.BitSpanTree(scores(2, 9, 9, 40), validate_args=False)
    if structure != "LinearChain":
        return getattr(strukt, structure.split(",")[0])(scores(2, 40, 41), validate_args=False)
    return strukt.LinearChain(scores(2, 9, 64), scores(64, 64), validate_args=False)


def compiled(capability, action):
    """The kernels that an action would launch, compiled, with their names."""
    triton.runtime.driver.set_active(Driver(int(capability)))
    available.is_interpreted = lambda: True  # tensors on the CPU will do
    launch, made = JITFunction.run, {}

    def compile_only(self, *arguments, grid, warmup, **options):
        kernel = launch(self, *arguments, grid=grid, warmup=True, **options)
        module = self.fn.__module__.rpartition(".")[2]
        made[kernel.hash] = (f"{module}.{self.fn.__name__}", kernel)
        return kernel

    JITFunction.run = compile_only
    with using("gpu"):
        action()
    return made.values()


def main(capability, structure, dtype, precision="highest"):
    asked = OWN.get(structure, ask)
    torch.set_float32_matmul_precision(precision)

    def action():
        if "tags" in structure:
            ask_of_chains(int(structure.split()[-2]), getattr(torch, dtype), structure.startswith("long"))
        else:
            asked(distribution(structure, getattr(torch, dtype)))

    for name, kernel in compiled(capability, action):
        print(json.dumps({"kernel": name, **usage(kernel)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
