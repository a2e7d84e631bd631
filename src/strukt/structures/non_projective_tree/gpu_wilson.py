"""Wilson's algorithm in Triton: samples of non-projective trees from loop-erased random walks (Wilson 1996).

One program draws one tree. The last head drawn for each node is kept in registers, so that a step is one load of
the shares of a word's heads and one random number. A walk that exceeds its budget is abandoned, which changes no
probability; see `cpu_wilson`.
"""

from __future__ import annotations

import triton
import triton.language as tl

from strukt.kernels.engine.gpu.numbers import uniform


@triton.jit
def shares_of(weight):
    """Return the cumulative weights divided by their total, so that they end at 1; -1 for weights of 0."""
    some = weight > 0.0
    sums = tl.where(some, tl.cumsum(weight, 0), -1.0)
    total = tl.max(sums, 0)
    return tl.where(some, sums / tl.where(total > 0.0, total, 1.0), -1.0)


@triton.jit
def drawn(shares, number, B: tl.constexpr):
    """Return the first index whose cumulative share, from `shares_of`, exceeds a number; B if there is none."""
    return tl.min(tl.where(shares > number, tl.arange(0, B), B), 0)


@triton.jit
def entry(values, place, B: tl.constexpr):
    """Return the entry at index ``place`` of an array ``(B,)`` in registers; 0 if it is out of range."""
    return tl.sum(tl.where(tl.arange(0, B) == place, values, 0), 0)


@triton.jit(do_not_specialize=["n"])
def write_shares(arcs, lengths, shares, n, SINGLE: tl.constexpr, B: tl.constexpr):
    """Write `shares_of` the weights of each word's heads, without the root if trees have a SINGLE root.

    Arrays are ``arcs (batch, n, n + 1)``, ``lengths (batch,)`` and ``shares (batch, n, n + 1)``. There is a
    program for each word of each item, and B is a power of two above n.
    """
    row = tl.program_id(0).to(tl.int64)
    m, length, h = (row % n).to(tl.int32), tl.load(lengths + row // n).to(tl.int32), tl.arange(0, B)
    live = (h <= tl.where(m < length, length, -1)) & (h != m + 1)
    if SINGLE:
        live = live & (h > 0)
    score = tl.load(arcs + row * (n + 1) + h, live, float("-inf")).to(tl.float64)
    top = tl.max(score, 0)
    weight = tl.exp(score - tl.where(top > float("-inf"), top, 0.0))
    tl.store(shares + row * (n + 1) + h, shares_of(weight), h <= n)


@triton.jit(do_not_specialize=["n", "count", "most"])
def walk(shares, roots, lengths, seeds, heads, unfinished, n, count, most, SINGLE: tl.constexpr, B: tl.constexpr):
    """Draw a tree for each of the seeds, in at most ``most`` steps; one program draws one tree.

    Args:
        shares: ``(batch, n, n + 1)``, as written by `write_shares`.
        roots: ``(batch, n)``, the probability that each word is the only root.
        lengths: ``(batch,)``, 0 for items without trees.
        seeds: ``(batch, count)``.
        heads: ``(batch, count, n)``, the result; -1 in the padding. In a tree that is not complete, only a single
            root's head is right.
        unfinished: ``(batch, count)``, True for trees that are not complete.
        n, count: The numbers of words and of trees per item.
        most: The largest number of steps.
        SINGLE: Whether trees have a single root.
        B: A power of two above n.
    """
    draw, nodes = tl.program_id(0).to(tl.int64), tl.arange(0, B)
    item = draw // count
    length, seed = tl.load(lengths + item).to(tl.int32), tl.load(seeds + draw)
    above, grown = tl.full([B], -1, tl.int32), (nodes == 0).to(tl.int32)
    steps = tl.full([], 0, tl.int32)
    if SINGLE:
        within = (nodes > 0) & (nodes <= length)
        chances = tl.load(roots + item * n + nodes - 1, within, 0.0)
        first = nodes == drawn(shares_of(chances), uniform(seed, steps), B)
        above, grown = tl.where(first, 0, above), tl.where(first, 1, grown)
    for begin in range(1, length + 1):
        node = begin
        while (entry(grown, node, B) == 0) & (steps < most):
            steps += 1
            row = tl.load(shares + (item * n + node - 1) * (n + 1) + nodes, nodes <= length, -1.0)
            head = drawn(row, uniform(seed, steps), B)
            above = tl.where(nodes == node, head, above)
            node = head
        reached, node = entry(grown, node, B), begin
        while (reached != 0) & (entry(grown, node, B) == 0):
            grown = tl.where(nodes == node, 1, grown)
            node = entry(above, node, B)
    tl.store(heads + draw * n + nodes - 1, above.to(tl.int64), (nodes > 0) & (nodes <= n))
    tl.store(unfinished + draw, tl.sum(tl.where(nodes <= length, 1 - grown, 0), 0) > 0)
