"""Attention whose scores depend on distances, and its transpose, without any n x n tensor in memory.

Distances i - j fall into buckets, each with a place f. A word i has rows A_if and B_if for each place, whose terms
(on an axis l) have weights w_f, and no word attends to itself. In each channel,

    P_ij = softmax_j(scale sum_l A_if w_f B_jf),   O1_if = sum_j P_ij w_f B_jf,   O2_jf = sum_i P_ij w_f A_if.

In P, f is the place of i - j; the sums in O1 and O2 are over the pairs with place f. The j are called the heads of
i, and the i dependents of j. Near pairs form a band, computed separately (`strukt.kernels.near`). Distant pairs
have two places, for heads to the right and to the left.
For these, a block of rows of A is multiplied by all of B: its rows of P are complete, yield its rows of O1 and its
contribution to O2, and are discarded (`strukt.kernels.distance_tiles`). The backward pass recomputes P block by
block, after Dao et al. (2022), "FlashAttention".
"""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels import all_pairs, near
from strukt.kernels.autograd import is_plain
from strukt.kernels.buckets import Buckets
from strukt.kernels.distance_tiles import NEVER, Tiles, is_everywhere, may_attend


def messages(
    left: Tensor,
    right: Tensor,
    weights: Tensor | None,
    inside: Tensor,
    buckets: Buckets,
    *,
    scale: float = 1.0,
    causal: bool = False,
    transposed: bool = True,
) -> tuple[Tensor, Tensor | None]:
    """Return O1 and O2, differentiable any number of times.

    Args:
        left: A, ``(batch, n, f, h, r)``, with 1 instead of f or h if places or channels share rows.
        right: B, in the same form; finite in the padding, too.
        weights: w, ``(f, h, r)``; None for weights of 1, if A has rows for each place and channel.
        inside: ``(batch, n)``, mask of words.
        buckets: The buckets of distances. If they have a place for all pairs, this must be the only place.
        scale: The factor of products.
        causal: Whether words attend only to words on their left.
        transposed: Whether to compute O2.

    Returns:
        O1 in the shape of A, 0 for a word that can attend to none, and O2 in that of B; None for O2 if not
        ``transposed``. O(n^2 h r) time, and O(n f h r) memory beside a block.

    Examples:
        >>> rows, inside = torch.eye(3)[None, :, None, None], torch.ones(1, 3, dtype=torch.bool)
        >>> first, second = messages(rows, rows, None, inside, Buckets(None))
        >>> first[0, :, 0, 0]
        tensor([[0.0000, 0.5000, 0.5000],
                [0.5000, 0.0000, 0.5000],
                [0.5000, 0.5000, 0.0000]])
    """
    if not is_plain():
        return _of_all_pairs(left, right, weights, inside, buckets, scale, causal, transposed)
    if not left.numel():
        return left, right if transposed else None
    attends = may_attend(inside, causal)[..., None, None, None]
    all_attend = is_everywhere(attends)
    left = left if all_attend else left.masked_fill(~attends, 0.0)
    batch, n, _, channels, rank = left.shape
    near_places = 2 * (buckets.reach or 0)
    near_left, distant_left = _split(left)
    near_right, distant_right = _split(right)
    if weights is None:
        of_near, of_sides = left.new_ones(near_places, channels, rank), None
    else:
        near_weights, of_sides = _split(weights[None, None])
        of_near, channels = near_weights[0, 0], weights.shape[1]
        distant_left = distant_left * of_sides
    groups = channels if right.shape[3] > 1 else 1
    band = left.new_zeros(batch, n, channels, near_places)
    if buckets.reach:
        band = near.scores(near_left, near_right, of_near, buckets) * scale
    tiles = Tiles(channels // groups, buckets, scale, causal, transposed)
    probabilities, *sums = tiles.messages(
        _grouped(distant_left, groups),
        _grouped(distant_right, groups),
        band.view(batch, n, groups, channels // groups, near_places).transpose(1, 2).flatten(0, 1),
        inside.repeat_interleave(groups, 0),
    )
    band = probabilities.view(batch, groups, n, channels // groups, near_places).transpose(1, 2).flatten(2, 3)
    over_heads, *over_dependents = (_ungrouped(rows, batch, groups, n) for rows in sums)
    over_heads = over_heads if of_sides is None else over_heads * of_sides
    near_heads = near.gathered(band, near_right, of_near, buckets, near_left.shape) if buckets.reach else None
    over_heads = _joined(near_heads, over_heads, left.shape)
    if not all_attend:
        over_heads = over_heads.masked_fill(~attends, 0.0)
    if not transposed:
        return over_heads, None
    near_dependents = (
        near.scattered(band, near_left, of_near, buckets, near_right.shape) if buckets.reach else None
    )
    return over_heads, _joined(near_dependents, over_dependents[0], right.shape)


def _of_all_pairs(
    left: Tensor,
    right: Tensor,
    weights: Tensor | None,
    inside: Tensor,
    buckets: Buckets,
    scale: float,
    causal: bool,
    transposed: bool,
) -> tuple[Tensor, Tensor | None]:
    """Compute `messages` by plain operations on all pairs, which graphs and ``torch.func`` need."""
    attends = may_attend(inside, causal)
    first = left.masked_fill(~attends[..., None, None, None], 0.0)
    first = first if weights is None else first * weights
    channels = max(first.shape[3], right.shape[3])
    first, second = (rows.expand(-1, -1, buckets.places, channels, -1) for rows in (first, right))
    distance = all_pairs.distances(left)
    never = (distance >= 0 if causal else distance == 0) | ~inside[:, None, None]
    probabilities = (scale * all_pairs.scores(first, second, buckets)).masked_fill(never, NEVER).softmax(-1)
    probabilities = probabilities.masked_fill(~attends[:, None, :, None], 0.0)
    over_heads = all_pairs.gathered(probabilities, second, buckets)
    over_heads = _like(over_heads if weights is None else over_heads * weights, left)
    if not transposed:
        return over_heads, None
    return over_heads, _like(all_pairs.scattered(probabilities, first, buckets), right)


def _like(rows: Tensor, shape: Tensor) -> Tensor:
    """Sum rows ``(batch, n, f, h, r)`` over the places and the channels if these share rows in ``shape``."""
    shared = [axis for axis in (2, 3) if shape.shape[axis] == 1 and rows.shape[axis] > 1]
    return rows.sum(shared, keepdim=True) if shared else rows


def _split(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Split the rows of all places into those for near heads, and those for distant heads on the right and left.

    Rows ``(batch, n, f, h, r)`` become ``(batch, n, 2g, h, r)`` and ``(batch, n, 2, h, r)``. If f is 1, all share
    the rows, which are returned twice.
    """
    if rows.shape[2] == 1:
        return rows, rows
    right, between, left = torch.split(rows, [1, rows.shape[2] - 2, 1], 2)
    return between, torch.cat([right, left], 2)


def _joined(near_rows: Tensor | None, distant: Tensor, shape: torch.Size) -> Tensor:
    """Join rows for near pairs, if any, and for distant ones in the order of their places.

    ``shape`` is that of the result, ``(batch, n, f, h, r)``. If f is 1 in it, all rows are added up; if h is 1,
    they are summed over channels.
    """
    batch, n, places, channels, rank = shape
    if places == 1:
        distant = distant.sum_to_size(shape)
        return distant if near_rows is None else distant + near_rows
    right, left = torch.split(distant.sum_to_size(batch, n, 2, channels, rank), 1, 2)
    return torch.cat([right, left] if near_rows is None else [right, near_rows, left], 2)


def _grouped(rows: Tensor, groups: int) -> Tensor:
    """Reshape ``(batch, n, s, g c, r)`` to ``(s, batch g, n c, r)``, for s sides and g groups of c channels."""
    batch, n, sides, channels, rank = rows.shape
    split = rows.reshape(batch, n, sides, groups, channels // groups, rank)
    return split.permute(2, 0, 3, 1, 4, 5).flatten(3, 4).flatten(1, 2)


def _ungrouped(rows: Tensor, batch: int, groups: int, n: int) -> Tensor:
    """Undo `_grouped`."""
    sides, _, together, rank = rows.shape
    split = rows.reshape(sides, batch, groups, n, together // n, rank)
    return split.permute(1, 3, 0, 2, 4, 5).flatten(3, 4)
