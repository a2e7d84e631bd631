"""Non-projective trees on GPUs, by the Matrix-Tree theorem: one launch per operator, for items of all lengths.

`gpu_elimination` describes the algorithm. Functions take the scores ``arcs (batch, n, n + 1)``, whose first column
is the root's, and ``lengths (batch,)``. The chart of an item holds the mantissas of its factors ``(n, n + 1)``,
the scores of the words' best heads ``(n,)``, and 32-bit exponents of the factors ``(n, n + 1)``.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from strukt.kernels import detour, dispatch
from strukt.kernels.engine.array_cache import DeviceCache
from strukt.kernels.engine.gpu.launching import device_of, launcher
from strukt.kernels.interpreted import current, interpreting
from strukt.kernels.semiring import NEG_INF
from strukt.structures.non_projective_tree import halves
from strukt.structures.non_projective_tree.cpu_wilson import MOST_STEPS
from strukt.structures.non_projective_tree.matrix_tree import relative
from strukt.structures.non_projective_tree.max_marginals import ROOTS

any_scores = True
"""True: results are exact for scores of any magnitude, so that no item needs the reference."""

_PLANS: DeviceCache[tuple[Tensor, int]] = DeviceCache()


def fits(arcs: Tensor, *_: Any) -> bool:
    """Return True if there are arcs; see `strukt.kernels.dispatch`."""
    return arcs.numel() > 0


def chart_shape(arcs: Tensor, *_: Any) -> tuple[int, int]:
    """Return the shape of the chart as an array of float64, ``(batch, size)``."""
    batch, n, heads = arcs.shape
    return batch, n * heads + n + n * heads // 2


def inside(arcs: Tensor, lengths: Tensor, single_root: bool) -> tuple[Tensor, Tensor]:
    """Return the log-partition ``(batch,)``, -inf without a tree, and the chart, in n sequential steps.

    Time O(n^3) per item.
    """
    chart, result = _matrices(arcs), arcs.new_empty(len(arcs))
    _launch("inside", arcs, lengths, single_root, *_as_numbers(chart), result)
    return result, chart


def outside(arcs: Tensor, lengths: Tensor, single_root: bool, weights: Tensor, chart: Tensor) -> Tensor:
    """Return the probability of each arc, times the weight of its item, in the shape of ``arcs``; time O(n^3)."""
    result, matrices = arcs.new_empty(arcs.shape), (*_as_numbers(chart), *_as_numbers(_matrices(arcs)))
    _launch("outside", arcs, lengths, single_root, *matrices, weights.contiguous(), result)
    return result


def derivative(
    arcs: Tensor, lengths: Tensor, single_root: bool, weights: Tensor, direction: Tensor, chart: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the gradients of <`outside`, direction> with respect to scores and weights; time O(n^3) per item."""
    return _derivative(arcs, lengths, single_root, weights, direction.contiguous())


def entropy(arcs: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
    """Return the entropy ``(batch,)`` in nats; time O(n^3) per item."""
    return _surprise(arcs, lengths, single_root, None, None)


def entropy_gradient(arcs: Tensor, lengths: Tensor, single_root: bool, factors: Tensor) -> Tensor:
    """Return the gradient of the entropies times factors ``(batch,)``, in the shape of ``arcs``."""
    return _derivative(arcs, lengths, single_root, factors, None)[0]


def surprise(arcs: Tensor, others: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
    """Return the cross-entropy -E[log q] ``(batch,)`` in nats; q is the distribution of the scores ``others``.

    Time O(n^3) per item.
    """
    mine, theirs = (relative(scores.double(), lengths) for scores in (arcs, others))
    total, _ = inside(theirs, lengths, single_root)
    result = _surprise(mine, lengths, single_root, _costs(theirs), total)
    result = result.masked_fill(_uses_forbidden(mine, theirs, lengths, single_root), torch.inf)
    return result.to(arcs.dtype)


def surprise_gradient(
    arcs: Tensor, others: Tensor, lengths: Tensor, single_root: bool, factors: Tensor
) -> Tensor:
    """Return the gradient with respect to the first scores of the cross-entropies times factors ``(batch,)``."""
    mine, theirs = (relative(scores.double(), lengths) for scores in (arcs, others))
    finite = factors.masked_fill(_uses_forbidden(mine, theirs, lengths, single_root), 0.0)
    return _derivative(mine, lengths, single_root, finite, _costs(theirs))[0].to(arcs.dtype)


def _costs(theirs: Tensor) -> Tensor:
    """Return the cost of each arc: the score of the word's best arc minus its own; 0 for forbidden arcs.

    ``theirs (batch, n, n + 1)`` are scores from `relative`, of which the best of each word is 0.
    """
    return torch.where(theirs > NEG_INF, -theirs, 0.0)


def _uses_forbidden(mine: Tensor, theirs: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
    """Return a mask ``(batch,)`` of the items in which ``mine`` allows a tree with an arc that ``theirs`` forbids.

    Such arcs get a score that exceeds the logarithm of the number of trees, all others 0. The log-partition then
    decides exactly. The probabilities of arcs would not, because small ones have rounding errors.
    """
    forbidden = (theirs == NEG_INF) & (mine > NEG_INF)
    height = mine.shape[1] * math.log(mine.shape[2]) + 1.0
    scores = torch.where(forbidden, height, torch.where(mine > NEG_INF, 0.0, NEG_INF))
    asked = lengths * forbidden.flatten(1).any(1)
    return inside(scores, asked, single_root)[0] > height - 0.5


def _surprise(
    arcs: Tensor, lengths: Tensor, single_root: bool, costs: Tensor | None, total: Tensor | None
) -> Tensor:
    """Return ``total (batch,)`` plus the expected sum of the ``costs (batch, n, n + 1)`` of a tree's arcs.

    It is 0 without trees. If both are None, they are the log-partition and the costs of ``arcs``, and the result
    is the entropy.
    """
    result, changes = arcs.new_empty(len(arcs)), arcs.new_empty(arcs.shape, dtype=torch.float64)
    arguments = costs, total, *_as_numbers(_matrices(arcs))
    _launch("entropy", arcs, lengths, single_root, *arguments, changes, result)
    return result


def best(arcs: Tensor, lengths: Tensor, single_root: bool) -> tuple[Tensor, Tensor]:
    """Return heads of the best tree ``(batch, n)`` and its score ``(batch,)``; time O(n^2) per item."""
    from strukt.structures.non_projective_tree import gpu_chu_liu_edmonds  # needs Triton

    batch, n, _ = arcs.shape
    heads, score = lengths.new_empty(batch, n, dtype=torch.int64), arcs.new_empty(batch)
    cycles = arcs.new_empty(arcs.shape, dtype=torch.float64)
    words, block = arcs.new_empty(arcs.shape, dtype=torch.int32), 1 << n.bit_length()
    with device_of(arcs):
        launcher(gpu_chu_liu_edmonds.best, (batch,))(
            arcs.detach().contiguous(), lengths.contiguous(), cycles, words, heads, score, n, single_root, B=block,
            D=2 * block, num_warps=warps(block),
        )  # fmt: skip
    return heads, score


def max_marginals(arcs: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
    """Return, for each arc, the best score of a tree with it, in the shape of ``arcs``; time O(n^3) per item."""
    from strukt.structures.non_projective_tree import gpu_max_marginals  # needs Triton

    batch, n, _ = arcs.shape
    _, trees = best(arcs.double(), lengths, single_root)
    blocks, size = _plan(n, arcs.device)
    memory, reached = (trees.new_empty(batch, each) for each in (size, 2 * n * n))
    result, arguments = arcs.new_empty(arcs.shape), (arcs.detach().contiguous(), lengths.contiguous())
    with device_of(arcs):
        launcher(gpu_max_marginals.max_marginals, (batch,))(
            *arguments, trees, blocks, blocks.shape[1], memory, size, reached, result, n, single_root, 16, 64,
            num_warps=4,
        )  # fmt: skip
    return result


def _plan(n: int, device: torch.device) -> tuple[Tensor, int]:
    """Return the blocks of `halves.plan`, transposed to ``(6, blocks)``, and the total size of its matrices."""

    def made() -> tuple[Tensor, int]:
        with interpreting():
            blocks, size = current(halves.plan)(n, ROOTS)
        return torch.from_numpy(blocks.T.astype("int32", order="C")).to(device), int(size)

    return _PLANS.get_on(device, n, made)


def sample(arcs: Tensor, lengths: Tensor, single_root: bool, count: int) -> tuple[Tensor, Tensor]:
    """Return heads ``(batch, count, n)`` and the log-partition; `gpu_wilson` describes the algorithm.

    The CPU draws the trees whose walks take too long.
    """
    from strukt.structures.non_projective_tree import gpu_wilson  # needs Triton

    batch, n, _ = arcs.shape
    log_partition, chart = inside(arcs, lengths, single_root)
    roots = log_partition  # not read unless single_root
    if single_root:
        roots = outside(arcs, lengths, single_root, torch.ones_like(log_partition), chart)[..., 0]
    lengths = lengths.masked_fill(~(log_partition > NEG_INF), 0)  # NaN, too: a walk would leave the memory
    seeds = torch.randint(torch.iinfo(torch.int64).max, (batch, count), device=arcs.device)
    heads = lengths.new_empty(batch, count, n, dtype=torch.int64)
    unfinished = lengths.new_empty(batch, count, dtype=torch.bool)
    shares, block = arcs.new_empty(arcs.shape, dtype=torch.float64), 1 << n.bit_length()
    sizes, options = (n, count, MOST_STEPS * n), {"B": block, "num_warps": warps(block)}
    with device_of(arcs):
        launcher(gpu_wilson.write_shares, (batch * n,))(
            arcs.detach().contiguous(), lengths, shares, n, single_root, **options
        )
        if count:
            arguments = shares, roots.double().contiguous(), lengths, seeds, heads, unfinished
            launcher(gpu_wilson.walk, (batch * count,))(*arguments, *sizes, single_root, **options)
    if unfinished.any():
        _draw_unfinished(arcs, lengths, single_root, unfinished, heads)
    return heads, log_partition


def _draw_unfinished(arcs: Tensor, lengths: Tensor, single_root: bool, unfinished: Tensor, heads: Tensor) -> None:
    """Draw the trees of the mask ``unfinished (batch, count)`` on the CPU, into ``heads (batch, count, n)``.

    Trees of one item and one root share an elimination. The single root of an abandoned walk is not drawn again,
    because abandoning the walk may depend on it.
    """
    n, (items, places) = arcs.shape[1], unfinished.nonzero(as_tuple=True)
    roots = (heads[unfinished] == 0).long().argmax(-1) * single_root
    groups, group = torch.unique(items * n + roots, return_inverse=True)
    chosen = arcs[groups // n]
    if single_root:
        others = torch.arange(n, device=arcs.device) != (groups % n).unsqueeze(-1)
        chosen[..., 0].masked_fill_(others, NEG_INF)
    on_cpu = dispatch.kernels(__package__ or "", "cpu").sample
    arguments = chosen, lengths[groups // n], single_root, heads.shape[1]
    heads[unfinished] = detour.on_cpu(on_cpu, *arguments)[0][group, places]


def warps(block: int) -> int:
    """Return the number of warps for a program that holds rows of ``block`` numbers in registers."""
    return max(min(block // 128, 8), 1)


def _derivative(
    arcs: Tensor, lengths: Tensor, single_root: bool, factors: Tensor, direction: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Return the derivatives of marginals, times ``factors (batch,)``, and of log-partitions along a direction.

    The derivatives are ``(batch, n, n + 1)`` and ``(batch,)``. If ``direction (batch, n, n + 1)`` is None, it is
    the costs of arcs.
    """
    grads, growth = arcs.new_empty(arcs.shape), factors.new_empty(factors.shape)
    matrices = (*_as_numbers(_matrices(arcs)), *_as_numbers(_matrices(arcs)))
    changes = arcs.new_empty(2, *arcs.shape, dtype=torch.float64)
    arguments = direction, factors.contiguous()
    _launch("derivative", arcs, lengths, single_root, *arguments, *matrices, changes, grads, growth)
    return grads, growth


def _matrices(arcs: Tensor) -> Tensor:
    """Allocate an array with the shape and the layout of the chart, not initialised."""
    return arcs.new_empty(chart_shape(arcs), dtype=torch.float64)


def _as_numbers(memory: Tensor) -> tuple[Tensor, Tensor]:
    """Return a chart viewed as float64, for its mantissas, and as int32, for its exponents."""
    memory = memory.contiguous()
    return memory, memory.view(torch.int32)


def _launch(name: str, arcs: Tensor, lengths: Tensor, single_root: bool, *more: Tensor | None) -> None:
    """Launch a kernel of `gpu_matrix_tree` with one program for each item.

    A program works on tiles of 32 rows and 64 columns of a matrix: larger tiles would not fit into registers.
    """
    from strukt.structures.non_projective_tree import gpu_matrix_tree  # needs Triton

    batch, n, _ = arcs.shape
    with device_of(arcs):
        launcher(getattr(gpu_matrix_tree, name), (batch,))(
            arcs.detach().contiguous(), lengths.contiguous(), *more, n, single_root, 32, 64, num_warps=16,
        )  # fmt: skip
