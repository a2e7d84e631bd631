"""CTC on GPUs: kernels for a training step and the best labelling, a table program for all other operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from strukt.kernels.engine.gpu.backend import Gpu, width
from strukt.kernels.engine.gpu.launching import device_of, launcher
from strukt.kernels.engine.gpu.rounding import Up, rounded
from strukt.kernels.engine.gpu.values import Namer
from strukt.kernels.engine.rows import padded, views, within
from strukt.structures.ctc import forward


class States(Gpu):
    """A GPU backend whose table program sees the scores of the target's states in place of those of all labels."""

    scored_terms = False

    def derivative(self, *arguments: Any) -> tuple[Tensor, ...]:
        """Return the gradients of <`outside`, directions>.

        The last argument, the chart of the kernels, is ignored: the table computes its own.
        """
        logits, lengths, states, target_lengths, *rest, _ = arguments
        inputs = logits, lengths, states, target_lengths
        return super().derivative(*inputs, *rest, self.inside(*inputs)[1])

    def _shapes(
        self, scores: Sequence[Tensor], options: Sequence[Any], up: Up = rounded
    ) -> Sequence[Sequence[int]]:
        """Return the shapes of the parts of a row; see `forward.parts_of_row`."""
        n, count = up(scores[0].shape[1]), 2 * up(options[0].shape[1] // 2) + 1
        return (1,), (count,), (n, count)

    def _sizes(self, scores: Sequence[Tensor], options: Sequence[Any], up: Up = rounded) -> Sequence[Any]:
        n, count = self._shapes(scores, options, up)[-1]
        return n, count // 2, count

    def _terms(self, main: Tensor, options: Sequence[Any]) -> int:
        return 3 * main.shape[1] * options[0].shape[1]  # type: ignore[no-any-return]

    def _index(self, scores: Sequence[Tensor], lengths: Tensor, options: Sequence[Any]) -> Tensor:
        _states, target_lengths = options
        index: Tensor = lengths * (self._shapes(scores, options)[-1][1] // 2 + 1) + target_lengths
        return index

    def _places(self, scores: Sequence[Tensor]) -> Sequence[int]:
        return (1,)

    def _place_scores(self, scores: Sequence[Tensor], options: Sequence[Any]) -> Tensor:
        return self._row(scores, options, forward.skips_to(options[0]))

    def _moves(self, scores: Sequence[Tensor], directions: Sequence[Tensor], options: Sequence[Any]) -> Tensor:
        return self._row(directions, options, torch.zeros_like(options[0]))

    def _parted(self, rows: Tensor, scores: Sequence[Tensor], options: Sequence[Any]) -> Tensor:
        return forward.sum_of_labels(self._emissions(rows, scores, options), scores[0], options[0])

    def _best_parted(self, rows: Tensor, scores: Sequence[Tensor], options: Sequence[Any]) -> Tensor:
        return forward.best_of_labels(self._emissions(rows, scores, options), scores[0], options[0])

    def _events(self, used: Tensor, scores: Sequence[Tensor], options: Sequence[Any], namer: Namer) -> Tensor:
        states, _ = options
        used = self._emissions(used, scores, options)
        label = states[:, None].expand(-1, used.shape[1], -1).gather(-1, used.argmax(-1))
        return torch.where(used.amax(-1) > 0, label, -1)

    def _row(self, scores: Sequence[Tensor], options: Sequence[Any], skips: Tensor) -> Tensor:
        """Return the padded rows of scores, given the scores of skipping to each state, ``(batch, states)``."""
        return padded(forward.parts_of_row(scores[0], options[0], skips), self._shapes(scores, options))

    def _emissions(self, rows: Tensor, scores: Sequence[Tensor], options: Sequence[Any]) -> Tensor:
        """Return the emissions of rows ``(..., places)``, without padding, as a view ``(..., n, states)``."""
        emissions = views(rows, self._shapes(scores, options))[-1]
        return within(emissions, (scores[0].shape[1], options[0].shape[1]))


RECURSION = States(forward.build, forward.cells)
any_scores = RECURSION.any_scores
fits = RECURSION.fits
derivative, sample, kbest = RECURSION.derivative, RECURSION.sample, RECURSION.kbest
entropy, entropy_gradient = RECURSION.entropy, RECURSION.entropy_gradient
surprise, surprise_gradient = RECURSION.surprise, RECURSION.surprise_gradient
max_marginals = RECURSION.max_marginals

TILE = 2048
"""The number of probabilities that a program of `add_labels` sums at a time."""


def chart_shape(logits: Tensor, lengths: Tensor, states: Tensor, target_lengths: Tensor) -> tuple[int, int]:
    """Return the shape of the chart as an array of float64, ``(batch, size)``."""
    return len(logits), width(_cells(logits, states), logits.dtype)


def inside(logits: Tensor, lengths: Tensor, states: Tensor, target_lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return the log-partition ``(batch,)`` and the chart, in n sequential steps; arguments as in `cpu`."""
    from strukt.structures.ctc import gpu_forward_backward  # needs Triton

    shape = chart_shape(logits, lengths, states, target_lengths)
    chart, result = logits.new_empty(shape, dtype=torch.float64), logits.new_empty(len(logits))
    size = _block(states)
    with device_of(logits):
        launcher(gpu_forward_backward.inside, (len(logits),))(
            *_items(logits, lengths, states, target_lengths), *_numbers(chart, logits, states), result, size,
            **_options(size),
        )  # fmt: skip
    return result, chart


def outside(
    logits: Tensor, lengths: Tensor, states: Tensor, target_lengths: Tensor, weights: Tensor, chart: Tensor
) -> Tensor:
    """Return the marginals of labels at frames, ``(batch, n, c)``, times ``weights (batch,)``; n sequential steps.

    The chart is that of `inside`.
    """
    from strukt.structures.ctc import gpu_forward_backward  # needs Triton

    (batch, n, _), places, size = logits.shape, _place_count(states), _block(states)
    items = _items(logits, lengths, states, target_lengths)
    numbers = _numbers(chart.contiguous(), logits, states)
    passed = logits.new_empty(batch, 2, places), lengths.new_empty(batch, 2, places, dtype=torch.int32)
    order = states.new_empty(batch, places)
    shares, result = logits.new_empty(batch, n, 2, places), logits.new_empty(logits.shape)
    tile = max(TILE // size, 1)
    with device_of(logits):
        launcher(gpu_forward_backward.outside, (batch,))(
            *items, *numbers, n, *passed, order, shares, size, **_options(size)
        )
        launcher(gpu_forward_backward.add_labels, (batch, -(-n // tile)))(
            *items[4:], *numbers, n, order, shares, weights, weights.stride(0), result, tile, size, TILE // tile,
        )  # fmt: skip
    return result


def best(logits: Tensor, lengths: Tensor, states: Tensor, target_lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return the best labels ``(batch, n)`` and their score ``(batch,)``, in 2 n sequential steps."""
    from strukt.structures.ctc import gpu_viterbi  # needs Triton

    (batch, n, _), places, size = logits.shape, _place_count(states), _block(states)
    passed = logits.new_empty(batch, 2, 2, places, dtype=torch.float64)
    ways = states.new_empty(batch, n, places, dtype=torch.int8)
    events, scores = states.new_empty(batch, n), logits.new_empty(batch)
    with device_of(logits):
        launcher(gpu_viterbi.best, (batch,))(
            *_items(logits, lengths, states, target_lengths), n, passed, ways, events, scores, size,
            **_options(size),
        )  # fmt: skip
    return events, scores


def _place_count(states: Tensor) -> int:
    """Return the number of places, m + 1; see `cpu_forward_backward`."""
    return states.shape[1] // 2 + 1


def _cells(logits: Tensor, states: Tensor) -> int:
    """Return the number of entries in an item's chart."""
    return (logits.shape[1] + 1) * 2 * _place_count(states)


def _items(logits: Tensor, lengths: Tensor, states: Tensor, target_lengths: Tensor) -> tuple[Any, ...]:
    """Return the arguments that describe the items, in the order in which kernels take them."""
    integers = lengths.contiguous(), states.contiguous(), target_lengths.contiguous()
    return logits, *logits.stride(), logits.shape[2], *integers, _place_count(states)


def _numbers(chart: Tensor, logits: Tensor, states: Tensor) -> tuple[Tensor, Tensor, int, int]:
    """Return views of the mantissas and the exponents of a chart, and their strides from an item to the next."""
    mantissas = chart.view(logits.dtype)
    exponents = chart.view(torch.int32)[:, 2 * chart.shape[1] - _cells(logits, states) :]
    return mantissas, exponents, mantissas.stride(0), exponents.stride(0)


def _block(states: Tensor) -> int:
    """Return the size of a vector over places: the smallest power of two that is at least m + 1 and 16."""
    return max(1 << (_place_count(states) - 1).bit_length(), 16)


def _options(size: int) -> dict[str, int]:
    """Return launch options: a thread for each place, up to 512."""
    return {"num_warps": min(max(size // 32, 1), 16)}
