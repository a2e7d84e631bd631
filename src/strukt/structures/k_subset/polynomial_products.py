"""Subsets of bounded size as a table: a balanced tree of blocks of items, as in the reference.

A block has a total for each size of its subsets. Two neighbouring blocks merge by a product of polynomials, so n
items take log n stages (Biscarri et al. 2018). Constant scores of 0 or -inf select the sizes allowed.
"""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.engine.program import Program, ProgramBuilder

Block = tuple[Array, Array]
"""The cells of the sizes of a block's subsets from 0 on, and copies of these from the largest size down."""


def build(n: int) -> Program:
    """Return the program of n items.

    The scores of an item of the batch are a row: those of taking each item, those of leaving out each item, then
    one for each size from 0 to n.
    """
    p = ProgramBuilder()
    taken, omitted = p.scattered(np.arange(n)), p.scattered(np.arange(n, 2 * n))
    sizes = p.scattered(np.arange(2 * n, 3 * n + 1))
    one, up, down = p.cells(), p.cells(n, 2), p.cells(n, 2)
    p.leaf(one)
    p.sum(up, one, weight=np.stack([omitted, taken], 1), mirror=down[:, ::-1], stage=0)
    blocks, stage = list(zip(up, down, strict=True)), 1
    while len(blocks) > 1:
        pairs = zip(blocks[0::2], blocks[1::2], strict=False)
        blocks = [_merge(p, *pair, stage) for pair in pairs] + blocks[len(blocks) // 2 * 2 :]
        stage += 1
    total = p.cells()
    p.sum(total, blocks[0][0][0], count=n + 1, each=sizes[0], stage=stage)
    return p.build(total)


def cells(n: int) -> int:
    """Return an upper bound on the number of cells for up to 4,096 items, that is, up to 13 levels of blocks."""
    return 30 * n + 30


def _merge(p: ProgramBuilder, left: Block, right: Block, stage: int) -> Block:
    """Return the block of the items of two neighbouring blocks."""
    (one, _), (_, other) = left, right
    most, others = len(one) - 1, len(other) - 1
    size = np.arange(most + others + 1)
    first = np.maximum(size - others, 0)  # the smallest part of a subset in the left block
    count = np.minimum(size, most) - first + 1
    up, down = p.cells(len(size)), p.cells(len(size))
    p.sum(up, one[first], other[others - size + first], count=count, mirror=down[::-1], stage=stage)
    return up, down
