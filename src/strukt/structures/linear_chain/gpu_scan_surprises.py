"""The surprise of each tag of long chains in Triton, given the tag after it: all blocks of positions at once.

The surprise of an event is -log of its probability. The surprises of the tags of a sequence add up to its -log p.
An entropy is the expected sum, and a cross-entropy the expected sum under other scores. With surprises as
directions of the scores, the gradient of an entropy is therefore a derivative of marginals.
"""

from __future__ import annotations

import triton
import triton.language as tl

from strukt.kernels.engine.gpu.growth import DOMINANT
from strukt.kernels.engine.gpu.numbers import LOWEST, number_of, of_rest, ratio, scale, settled, surprise
from strukt.structures.linear_chain.gpu_extended import multiply
from strukt.structures.linear_chain.gpu_scan import block_of, borders_of, matrix_at, pairs_into, tags_at
from strukt.structures.linear_chain.gpu_weights import tags_if


@triton.jit
def shared_out(mantissa, exponent):
    """Return the settled sums of extended numbers over the first axis, and -log of each term's share in its sum.

    The latter is infinite for a term of 0. For a dominant term it is computed from the others, so that it is exact
    near 0.
    """
    top = tl.max(exponent, 0)
    total = tl.sum(mantissa * scale(exponent - tl.expand_dims(top, 0), mantissa), 0)
    total, top = settled(total, top)
    base, base_power = tl.expand_dims(total, 0), tl.expand_dims(top, 0)
    share = ratio(mantissa, exponent, base, base_power)
    large = share > DOMINANT
    rest = tl.sum(tl.where(large, 0.0, share), 0)
    dominant = tl.expand_dims(of_rest(tl.minimum(rest, 0.5)), 0)
    return total, top, tl.where(large, dominant, surprise(mantissa, exponent, base, base_power))


@triton.jit
def surprises(
    unary, transition, group_step, step, lengths, sharing, numbers, integers, width, tags, pairs, n, c, blocks,
    PER_STEP: tl.constexpr, C: tl.constexpr, SIZE: tl.constexpr,
):  # fmt: skip
    """Write the surprise of each tag given the next tag to ``pairs``, and that of each last tag to ``tags``.

    The grid of programs is (items, blocks).

    Args:
        unary, transition, group_step, step, lengths, sharing: As in `gpu_forward.inside`.
        numbers, integers, width, n, c, blocks, PER_STEP, C, SIZE: As in `gpu_scan`.
        tags: ``(batch, n, c)``, filled with zeros.
        pairs: ``(batch, n - 1, c, c)``.
    """
    item, block = tl.program_id(0).to(tl.int64), tl.program_id(1)
    length, first, last = block_of(lengths, item, block, SIZE)
    unary += item * n * c
    tags += item * n * c
    pairs += item * (n - 1) * c * c
    transition += item // sharing * group_step
    borders, border_powers = borders_of(numbers, integers, item, width, blocks, c)
    tag = tl.arange(0, C)
    on = (tag < c)[:, None] & (tag < c)[None, :]
    place, live = block * c + tag, tags_if(first < last, tag, c)
    alpha, power = tl.load(borders + place, live, 0.0), tl.load(border_powers + place, live, LOWEST)
    if not PER_STEP:
        weights, powers = number_of(matrix_at(transition, length > 1, tag, c, c, 1, float("-inf")))
    for t in range(first, last):
        if t > 0:
            if PER_STEP:
                weights, powers = number_of(pairs_into(transition, step, t, last, tag, c, c, 1))
            alpha, power, surprising = shared_out(alpha[:, None] * weights, power[:, None] + powers)
            pair = tl.maximum(t - 1, 0).to(tl.int64) * c * c + tag[:, None] * c + tag[None, :]
            tl.store(pairs + pair, surprising, on)
        weight, weight_power = number_of(tags_at(unary, t, last, tag, c))
        alpha, power = multiply(alpha, power, weight, weight_power)
    _, _, of_last = shared_out(alpha[:, None], power[:, None])
    at_end = tags_if((last == length) & (first < last), tag, c)
    tl.store(tags + (length - 1) * c + tag[:, None], of_last, at_end[:, None])
