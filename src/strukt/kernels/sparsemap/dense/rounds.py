"""SparseMAP of a batch on the device of its scores, with one call of the mode oracle in each round.

Within a round, nothing depends on values on the host. Once in `ROUNDS` rounds the host reads whether items are
still open, which waits for the device.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from strukt.kernels.arrays import Array
from strukt.kernels.sparsemap.dense import active_set, completion
from strukt.kernels.sparsemap.dense.state import DenseSets, Structures
from strukt.kernels.sparsemap.result import Result, Settings, Start, capacity

ROUNDS = 4
"""The number of rounds after which the host reads from the device again."""

FIRST_CAPACITY = 16
"""The initial capacity for structures, in addition to those of the start."""


def solve(
    main: Tensor, p: int, start: Start, settings: Settings, best: Callable[[Tensor], tuple[Tensor, Tensor]],
    to_parts: Callable[[Tensor], Tensor], extra: Callable[[Tensor], Tensor],
) -> tuple[Result, list[Tensor]]:  # fmt: skip
    """Run `strukt.inference.sparsemap.active_set`, with its arguments and result, on the device of the scores."""
    batch, d = len(main), main[0].numel()
    most, begun = capacity(d, start, settings), start.weights.shape[1]
    sets = DenseSets(main.reshape(batch, d), min(begun + FIRST_CAPACITY, most))
    answers: list[Tensor] = []

    def ask() -> Structures:
        events, values = best(sets.query.reshape(main.shape))
        answers.append(events)
        used = to_parts(events).reshape(batch, d) > 0
        return sets.structures(used, extra(events), values > -torch.inf, len(answers) - 1)

    active_set.begin(sets, *_started(sets, start))
    while _goes_on(active_set.is_open(sets), sets, most):
        for _ in range(ROUNDS):
            active_set.advance(sets, ask(), settings)
    completion.begin(sets, settings)
    while _goes_on(completion.is_open(sets), sets, most):
        for _ in range(ROUNDS):
            completion.advance(sets, ask(), settings)
    return _result(sets, min(p, d)), answers


def _goes_on(is_open: Tensor, sets: DenseSets, most: int) -> bool:
    """Return True if some item needs another round; make room for the structures of `ROUNDS` rounds."""
    some, size = torch.stack([is_open.sum(), sets.sizes().amax()]).tolist()  # waits for the device
    if sets.capacity < min(size + ROUNDS, most):
        sets.enlarge(min(max(2 * sets.capacity, size + ROUNDS), most))
    return bool(some)


def _started(sets: DenseSets, start: Start) -> tuple[list[Structures], Tensor]:
    """Return the structures of the start and their weights ``(batch, k)``."""
    parts, counts, extra, weights = (torch.from_numpy(each).to(sets.main.device) for each in start)
    within = torch.arange(parts.shape[2], device=parts.device) < counts.unsqueeze(-1)
    shape = (*counts.shape, sets.main.shape[1])
    used = sets.main.new_zeros(shape).scatter_add_(-1, parts.long(), within.double()) > 0
    allowed = ~(used & (sets.main == -torch.inf).unsqueeze(1)).any(-1) & (extra > -torch.inf)
    return [
        sets.structures(used[:, j], extra[:, j], allowed[:, j], -1 - j) for j in range(counts.shape[1])
    ], weights


def _result(sets: DenseSets, p: int) -> Result:
    """Return the active sets on the host, oldest structure first, with p part indices for each."""
    sizes = _array(sets.sizes())
    age = torch.where(sets.origins < 0, torch.iinfo(torch.int64).min - sets.origins, sets.origins)
    age = torch.where(sets.used, age, torch.iinfo(torch.int64).max)
    order = age.argsort(-1)[:, : int(sizes.max())]
    each = sets.parts.gather(1, order.unsqueeze(-1).expand(-1, -1, sets.parts.shape[2]))
    used, places = each.topk(p, -1)
    counts, origins, weights = (each.gather(1, order) for each in (sets.counts, sets.origins, sets.weights))
    return Result(
        _array(torch.where(used > 0, places, -1).int()), _array(counts.long()), _array(origins), _array(weights),
        sizes, _array(sets.calls), _array(sets.phases), _array(sets.gap),
    )  # fmt: skip


def _array(value: Tensor) -> Array:
    return value.cpu().numpy()
