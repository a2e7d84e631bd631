"""Exact samples of segmentations, from the end backwards."""

from __future__ import annotations

import numpy as np

from strukt.kernels.chain.cpu_log import categorical
from strukt.kernels.jit import kernel
from strukt.kernels.semi_markov.cpu_log import Array
from strukt.kernels.semi_markov.cpu_probability import EMPTY, LOG, pages


@kernel
def draw(
    segments: Array, transition: Array, lengths: Array, chart: Array, uniform: Array, labels: Array,
    start: int, step: int,
) -> None:  # fmt: skip
    """Samples, given what may end and start at each position."""
    batch, _, _, c = segments.shape
    for b in range(start, batch, step):
        n = lengths[b]
        entered, ended, scales = pages(chart[b], n, c)
        if n == 0 or ended[0, 0] == EMPTY:
            continue
        _make_absolute(ended[0, 0] == LOG, entered, ended, scales)
        pairs = transition[b * transition.shape[0] // batch]
        for sample in range(uniform.shape[1]):
            _draw_one(segments[b], pairs, entered, ended, uniform[b, sample], labels[b, sample])


@kernel
def _make_absolute(in_log_space: bool, entered: Array, ended: Array, scales: Array) -> None:
    """Logs of a chart; those of what starts without their scales, up to a constant for all positions."""
    for t in range(entered.shape[0]):
        for j in range(entered.shape[1]):
            if not in_log_space:
                entered[t, j] = np.log(entered[t, j]) if entered[t, j] > 0.0 else -np.inf
                ended[t, j] = np.log(ended[t, j]) if ended[t, j] > 0.0 and t > 0 else -np.inf
            entered[t, j] += scales[t]


@kernel
def _draw_one(
    segments: Array, transition: Array, entered: Array, ended: Array, uniform: Array, labels: Array
) -> None:
    k, c = segments.shape[1:]
    last = transition.shape[0] - 1
    by_label, by_duration = np.empty(c), np.empty(k)
    end, drawn, following = entered.shape[0] - 1, 0, -1
    while end > 0:
        for i in range(c):
            onward = transition[min(i, last), min(following, last)] if following >= 0 else 0.0
            by_label[i] = ended[end, i] + onward
        label = categorical(by_label, uniform[drawn, 0])
        durations = min(k, end)
        for d in range(durations):
            by_duration[d] = entered[end - 1 - d, label] + segments[end - 1 - d, d, label]
        end -= 1 + categorical(by_duration[:durations], uniform[drawn, 1])
        labels[end] = label
        following = label
        drawn += 1
