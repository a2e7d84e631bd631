"""A Triton kernel that does only what every recursion must do: load, store, and wait for other threads."""

import triton
import triton.language as tl

CELLS = 64


@triton.jit
def steps(cells, count, size: tl.constexpr):
    """Add 1 to the numbers ``cells (programs, size)``, ``count`` times, with a barrier after each addition."""
    place = cells + tl.program_id(0) * size + tl.arange(0, size)
    for _ in range(count):
        tl.store(place, tl.load(place) + 1.0)
        tl.debug_barrier()
