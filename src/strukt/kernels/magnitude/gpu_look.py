"""A Triton kernel that looks for scores that are NaN or too large."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def find_odd(scores, is_odd, count, bound, B: tl.constexpr):
    """Write 1 to ``is_odd (1,)`` if any of the ``scores (count,)`` is NaN, or beyond the bound and not -inf."""
    x = tl.program_id(0).to(tl.int64) * B + tl.arange(0, B)
    score = tl.load(scores + x, x < count, 0.0)
    ordinary = ((score >= -bound) & (score <= bound)) | (score == float("-inf"))
    tl.store(is_odd + x * 0, (x * 0 + 1).to(tl.int32), ~ordinary)
