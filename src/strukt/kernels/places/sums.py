"""Triton kernels that sum scores at places, and subtract from them: one program for each item."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def add_up(
    scores, places, log_partition, total, value, size, count, share, FIRST: tl.constexpr, LAST: tl.constexpr,
    B: tl.constexpr,
):  # fmt: skip
    """Add the scores of an event to ``total``; with the last tensor, write its log-probability to ``value``."""
    item = tl.program_id(0).to(tl.int64)
    result = tl.zeros([B], tl.float64)
    for start in range(0, count, B):
        k = start + tl.arange(0, B)
        place = tl.load(places + item * count + k, k < count, -1)
        used = (place >= 0) & (place < size)
        result += tl.load(scores + item // share * size + place, used, 0.0).to(tl.float64)
    score = tl.sum(result, 0)
    if not FIRST:
        score += tl.load(total + item)
    if LAST:
        other = tl.load(log_partition + item)
        rounded = score.to(other.dtype)
        impossible = (rounded == float("-inf")) | (other == float("-inf"))
        ratio = rounded - tl.where(impossible, 0.0, other)  # both are rounded, and may be huge
        tl.store(value + item, tl.where(impossible, float("-inf"), tl.where(ratio > 0.0, 0.0, ratio)))
    else:
        tl.store(total + item, score)


@triton.jit
def opposites(grads, log_probs, found, batch, B: tl.constexpr):
    """Write the negative of each gradient, 0 for impossible events."""
    b = tl.program_id(0) * B + tl.arange(0, B)
    grad, log_prob = tl.load(grads + b, b < batch, 0.0), tl.load(log_probs + b, b < batch, 0.0)
    tl.store(found + b, tl.where(log_prob == float("-inf"), 0.0, -grad), b < batch)


@triton.jit
def subtract(parts, places, weights, size, count, share, B: tl.constexpr):
    """Subtract the weight of an item at its places of a gradient; repeated places must have one weight."""
    item = tl.program_id(0).to(tl.int64)
    weight = tl.load(weights + item)
    for start in range(0, count, B):
        k = start + tl.arange(0, B)
        place = tl.load(places + item * count + k, k < count, -1)
        used = (place >= 0) & (place < size)
        tl.atomic_add(parts + item // share * size + place, tl.zeros([B], weight.dtype) - weight, used)
