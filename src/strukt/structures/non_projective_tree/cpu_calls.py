"""Calls of the compiled kernels of non-projective trees: they allocate arrays and choose the number of threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy.typing as npt
import torch
from torch import Tensor

from strukt.kernels.jit import over_batch, sample_threads, thread_count
from strukt.kernels.memory import empty, no_events, zeros
from strukt.kernels.sparsemap.result import Result, Settings, Start, solve

Kernel = Callable[..., None]


def run(
    kernel: Kernel, arcs: Tensor, lengths: Tensor, single_root: bool, *arrays: npt.NDArray[Any] | bool
) -> None:
    """Call ``kernel(arcs, lengths, single_root, *arrays, start, step)`` on all threads."""
    batch, n, _ = arcs.shape
    if batch and n:
        scores = arcs.detach().contiguous().numpy()
        threads = thread_count(batch, batch * n**3)
        over_batch(kernel, threads, scores, lengths.detach().contiguous().numpy(), single_root, *arrays)


def inside(
    kernel: Kernel, shape: tuple[int, ...], arcs: Tensor, lengths: Tensor, single_root: bool
) -> tuple[Tensor, Tensor]:
    """Return the log-partition ``(batch,)`` and a chart of this shape, both filled by the kernel."""
    chart = torch.from_numpy(empty(shape))
    log_partition = zeros(lengths, torch.float64)
    run(kernel, arcs, lengths, single_root, chart.numpy(), log_partition.numpy())
    return log_partition.to(arcs.dtype), chart


def outside(
    kernel: Kernel, arcs: Tensor, lengths: Tensor, single_root: bool, weights: Tensor, chart: Tensor
) -> Tensor:
    """Return marginals times ``weights (batch,)``, in the shape of ``arcs``, filled by the kernel."""
    marginals = zeros(arcs)
    run(kernel, arcs, lengths, single_root, weights.contiguous().numpy(), chart.numpy(), marginals.numpy())
    return marginals


def surprises(
    kernel: Kernel, arcs: Tensor, others: Tensor | None, lengths: Tensor, single_root: bool
) -> Tensor:
    """Return entropies, or cross-entropies if other scores are given, ``(batch,)``, filled by the kernel."""
    result = zeros(lengths, torch.float64)
    other = _doubles(arcs if others is None else others)
    run(kernel, arcs.double(), lengths, single_root, other, others is None, result.numpy())
    return result.to(arcs.dtype)


def surprise_gradients(
    kernel: Kernel, arcs: Tensor, others: Tensor | None, lengths: Tensor, single_root: bool, factors: Tensor
) -> Tensor:
    """Return the gradients of `surprises` times ``factors``, in the shape of ``arcs``, filled by the kernel."""
    grads = zeros(arcs, torch.float64)
    other = _doubles(arcs if others is None else others)
    run(kernel, arcs.double(), lengths, single_root, other, others is None, _doubles(factors), grads.numpy())
    return grads.to(arcs.dtype)


def _doubles(tensor: Tensor) -> npt.NDArray[Any]:
    """Return an array in double precision, so that kernels that take long to compile have one type only."""
    return tensor.detach().double().contiguous().numpy()


def sparsemap(
    kernel: Kernel, arcs: Tensor, lengths: Tensor, single_root: bool, begin: Start, settings: Settings
) -> Result:
    """Return the trees in the SparseMAP solution, filled by the kernel."""
    batch, n, heads = arcs.shape
    arguments = (arcs.detach().contiguous().numpy(), lengths.detach().contiguous().numpy(), single_root)
    threads = thread_count(batch, batch * n**4)
    return solve(kernel, threads, batch, n * heads, n, begin, settings, *arguments)


def sample(
    kernel: Kernel, arcs: Tensor, lengths: Tensor, single_root: bool, count: int, *arrays: npt.NDArray[Any]
) -> Tensor:
    """Return heads ``(batch, count, n)``, filled by the kernel from a seed for each tree."""
    batch, n, _ = arcs.shape
    heads = no_events(batch, count, n)
    seeds = torch.randint(torch.iinfo(torch.int64).max, (batch, count))
    if n:
        threads, chunks = sample_threads(batch, count, batch * count * n * n)
        scores = arcs.detach().contiguous().numpy()
        arguments = (scores, lengths.detach().contiguous().numpy(), single_root, *arrays)
        over_batch(kernel, threads, *arguments, seeds.numpy(), chunks, heads.numpy())
    return heads
