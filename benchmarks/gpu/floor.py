"""A Triton kernel that does nothing but what every recursion must: load, store, and wait for its neighbours."""

import triton
import triton.language as tl

CELLS = 64


@triton.jit
def steps(cells, count, size: tl.constexpr):
    """Add 1 to the numbers of a program, as many times as there are steps, with a barrier after each."""
    place = cells + tl.program_id(0) * size + tl.arange(0, size)
    for _ in range(count):
        tl.store(place, tl.load(place) + 1.0)
        tl.debug_barrier()
