"""Triton kernels that sum scores at places, and subtract from gradients there: one program for each item."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def used_places(places, sizes, item, k):
    """Return the offset of an item's row of scores, the item's k-th places in it, and a mask of valid places.

    Args:
        places: ``(items, count)``, -1 for none.
        sizes: The number of scores in a row, of places of an item, and of items that share a row.
        item: The index of the item.
        k: The indices, from 0 to count - 1, of some of the item's places.
    """
    size, count, share = sizes[0], sizes[1], sizes[2]
    place = tl.load(places + item * count + k, k < count, -1)
    return item // share * size, place, (place >= 0) & (place < size)


@triton.jit
def log_prob(scores, places, sizes, log_partition, log_probs, TENSORS: tl.constexpr, B: tl.constexpr):
    """Write the log-probability of each event to ``log_probs (items,)``, given each ``log_partition (items,)``.

    ``scores``, ``places`` and ``sizes`` are tuples with one array for each tensor; see `used_places`.
    """
    item = tl.program_id(0).to(tl.int64)
    result = tl.zeros([B], tl.float64)
    for index in tl.static_range(TENSORS):
        for start in range(0, sizes[index][1], B):
            row, place, used = used_places(places[index], sizes[index], item, start + tl.arange(0, B))
            result += tl.load(scores[index] + row + place, used, 0.0).to(tl.float64)
    total = tl.load(log_partition + item)
    rounded = tl.sum(result, 0).to(total.dtype)
    impossible = (rounded == float("-inf")) | (total == float("-inf"))
    ratio = rounded - tl.where(impossible, 0.0, total)  # both are rounded, so the difference may exceed 0
    tl.store(log_probs + item, tl.where(impossible, float("-inf"), tl.where(ratio > 0.0, 0.0, ratio)))


@triton.jit
def opposites(grads, log_probs, result, batch, B: tl.constexpr):
    """Write to ``result`` the negative of ``grads``, or 0 where ``log_probs`` is -inf; all are ``(batch,)``."""
    b = tl.program_id(0) * B + tl.arange(0, B)
    grad, log_prob = tl.load(grads + b, b < batch, 0.0), tl.load(log_probs + b, b < batch, 0.0)
    tl.store(result + b, tl.where(log_prob == float("-inf"), 0.0, -grad), b < batch)


@triton.jit
def subtract(parts, places, sizes, weights, TENSORS: tl.constexpr, B: tl.constexpr):
    """Subtract the weight of each item, ``weights (items,)``, from the gradients ``parts`` at its places.

    ``parts``, ``places`` and ``sizes`` are tuples with one array for each tensor, as in `log_prob`. Items may
    share a row of gradients, so the subtraction is atomic.
    """
    item = tl.program_id(0).to(tl.int64)
    weight = tl.load(weights + item)
    for index in tl.static_range(TENSORS):
        for start in range(0, sizes[index][1], B):
            row, place, used = used_places(places[index], sizes[index], item, start + tl.arange(0, B))
            tl.atomic_add(parts[index] + row + place, tl.zeros([B], weight.dtype) - weight, used)
