"""Launches of the scans over long chains of few tags on GPUs: log-partition, marginals and mode.

One program for each item would leave most of the device idle during n steps in sequence, and as many for the
gradient. A scan has 2 to 2.5 sqrt(n) steps in sequence, and up to 2 sqrt(n) for the gradient, but each computes
more: a product of matrices. Its numbers cannot underflow, so no item is computed again. The chart holds only the
sums at the borders of blocks.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor

from strukt.kernels.engine.gpu.launching import device_of, launcher
from strukt.structures.linear_chain.gpu_arguments import is_known, matrices_of, of_groups, padded, views_of

any_scores = True
"""True: results are exact for scores of any magnitude; see `strukt.kernels.engine.gpu.backend.Gpu`."""

LONG = 1024
"""The fewest positions of a chain for a scan: a shorter chain takes less time than launching more kernels."""

MOST = 16
"""The most tags of a chain for a scan."""

ROWS = 4
"""The most rows of matrices in a batch for each multiprocessor.

A step of a scan computes 10 to 30 times as much as a step of one program per item, and a multiprocessor holds
about 16 warps that do not wait for one another. So a scan of this size is estimated to take half as long as one
program per item. This has not been measured on a GPU yet.
"""

TYPICAL = 128
"""The number of multiprocessors assumed in Triton's interpreter, where it is not known; an H100 has 132."""


def pays_off(unary: Tensor) -> bool:
    """Return True if the items are so long, and so few, that a scan takes less time than one program per item."""
    batch, n, c = unary.shape
    return n >= LONG and c <= MOST and batch * padded(c) <= ROWS * multiprocessors(unary.device)


def fits(unary: Tensor, transition: Tensor, lengths: Tensor, *_: Any) -> bool:
    """Return True if a scan computes these scores; see `strukt.kernels.dispatch`."""
    return is_known(unary) and pays_off(unary)


@functools.cache
def multiprocessors(device: torch.device) -> int:
    """Return the number of streaming multiprocessors of a device, without waiting for its kernels."""
    if device.type != "cuda" or not torch.cuda.is_available():
        return TYPICAL
    return int(torch.cuda.get_device_properties(device).multi_processor_count)


def size_of(n: int) -> int:
    """Return the number of positions of a block: the largest power of two up to sqrt(n)."""
    size = 1
    while 4 * size * size <= n:
        size *= 2
    return size


def chart_shape(unary: Tensor, transition: Tensor, lengths: Tensor) -> tuple[int, int]:
    """Return the shape of the chart as an array of float64; see `gpu_scan.borders_of` for its contents."""
    batch, _, c = unary.shape
    return batch, 2 * blocks_of(unary) * c * (1 if unary.element_size() == 4 else 2)


def inside(unary: Tensor, transition: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return the log-partition ``(batch,)`` and the chart; O(n c^3) operations per item, in O(sqrt n) steps."""
    from strukt.structures.linear_chain import gpu_scan  # needs Triton

    (batch, n, c), blocks, sizes = unary.shape, blocks_of(unary), sizes_of(unary)
    result = unary.new_empty(batch)
    chart = unary.new_empty(chart_shape(unary, transition, lengths), dtype=torch.float64)
    numbers = unary.new_empty(batch, blocks, c, c)
    products = numbers, torch.empty_like(numbers, dtype=torch.int32)
    matrices, rows = matrices_of(unary, transition, lengths), rows_of(unary)
    with device_of(unary):
        launcher(gpu_scan.multiply_blocks, (batch, blocks, -(-c // rows)))(
            unary.contiguous(), *matrices, *products, n, c, blocks, PER_STEP=matrices.per_step, ROWS=rows, **sizes
        )
        launcher(gpu_scan.sweep, (batch, 2))(
            *products, matrices.lengths, *views_of(chart, unary), result, c, blocks, **sizes
        )
    return result, chart


def outside(
    unary: Tensor, transition: Tensor, lengths: Tensor, weights: Tensor, chart: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the marginals of tags and of transitions, times ``weights (batch,)``, in the shapes of the scores."""
    from strukt.structures.linear_chain import gpu_scan_backward  # needs Triton

    (batch, n, c), (groups, steps), blocks = unary.shape, transition.shape[:2], blocks_of(unary)
    separate, sizes = steps != 1, sizes_of(unary)
    tags = torch.empty_like(unary, memory_format=torch.contiguous_format)
    pairs = unary.new_empty(batch, steps if separate else blocks, c, c)
    numbers = unary.new_empty(batch, blocks, sizes["SIZE"] + 1, c)
    matrices = matrices_of(unary, transition, lengths)
    with device_of(unary):
        launcher(gpu_scan_backward.outside, (batch, blocks))(
            unary.contiguous(), *matrices, *views_of(chart.contiguous(), unary), numbers,
            torch.empty_like(numbers, dtype=torch.int32), weights.contiguous(), tags, pairs,
            c * c if separate else 0, n, c, blocks, PER_STEP=matrices.per_step, SEPARATE=separate, **sizes,
        )  # fmt: skip
    return tags, of_steps(pairs, steps, groups)


def best(unary: Tensor, transition: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return the best tags ``(batch, n)`` and their score; O(n c^3) operations per item, in O(sqrt n) steps."""
    from strukt.structures.linear_chain import gpu_scan_viterbi  # needs Triton

    (batch, n, c), blocks, sizes = unary.shape, blocks_of(unary), sizes_of(unary)
    score, tags = unary.new_empty(batch), unary.new_empty(batch, n, dtype=torch.int64)
    products = unary.new_empty(batch, blocks, c, c, dtype=torch.float64)
    borders = unary.new_empty(batch, blocks, c, dtype=torch.float64)
    choices = unary.new_empty(batch, n, c, dtype=torch.int8)
    origins = unary.new_empty(batch, blocks, c, dtype=torch.int32)
    ends, lasts = unary.new_empty(batch, blocks, dtype=torch.int32), unary.new_empty(batch, dtype=torch.int32)
    unary_scores, matrices = unary.contiguous(), matrices_of(unary, transition, lengths)
    per_step, rows, size = matrices.per_step, rows_of(unary), {"SIZE": sizes["SIZE"], "num_warps": 1}
    with device_of(unary):
        launcher(gpu_scan_viterbi.multiply_blocks, (batch, blocks, -(-c // rows)))(
            unary_scores, *matrices, products, n, c, blocks, PER_STEP=per_step, ROWS=rows, **sizes
        )
        launcher(gpu_scan_viterbi.sweep, (batch,))(
            products, matrices.lengths, borders, score, lasts, c, blocks, **sizes
        )
        launcher(gpu_scan_viterbi.inside, (batch, blocks))(
            unary_scores, *matrices, borders, choices, origins, n, c, blocks, PER_STEP=per_step, **sizes
        )
        launcher(gpu_scan_viterbi.walk_borders, (batch,))(
            matrices.lengths, lasts, origins, ends, c, blocks, **size
        )
        launcher(gpu_scan_viterbi.walk, (batch, blocks))(
            matrices.lengths, score, choices, ends, tags, n, c, blocks, **size
        )
    return tags, score


def of_steps(pairs: Tensor, steps: int, groups: int) -> Tensor:
    """Return the sums of ``pairs`` over blocks, and over the items of each group: ``(groups, steps, c, c)``.

    ``pairs`` is ``(batch, steps, c, c)``, or ``(batch, blocks, c, c)`` if ``steps`` is 1.
    """
    return of_groups(pairs.sum(1, keepdim=True) if steps == 1 else pairs, groups)


def blocks_of(unary: Tensor) -> int:
    """Return the number of blocks of positions, n / `size_of` rounded up."""
    n = unary.shape[1]
    return -(-n // size_of(n))


def rows_of(unary: Tensor) -> int:
    """Return the number of rows of a matrix that one warp computes.

    Each entry has one thread, or two in float64. All rows of a matrix of 16 tags would not fit into registers.
    """
    return 128 // (padded(unary.shape[2]) * unary.element_size())


def sizes_of(unary: Tensor) -> dict[str, Any]:
    """Return the compile-time constants of the kernels; they run in one warp, which needs no barriers."""
    _, n, c = unary.shape
    return {"C": padded(c), "SIZE": size_of(n), "num_warps": 1}
