"""Fused Numba kernels of CTC, forward and backward.

A labelling is in place k, 0 to m, if it has produced k labels of the target so far. Its last frame then has either
the blank after these labels or the k-th label itself; ``blank[k]`` and ``label[k]`` are the total weights of all
labellings of the two kinds. If the weight of the blank at the next frame is ``weight[0]`` and that of the k-th
label ``weight[k]``,

    blank'[k] = weight[0] (blank[k] + label[k])
    label'[k] = weight[k] (label[k] + blank[k - 1] + label[k - 1]),

the last term only if the labels k and k - 1 differ. All are `strukt.kernels.extended` numbers, each a mantissa and
a rank: confident networks predict weights of e^-30 and less, so that the probabilities of improbable places soon
underflow.

The chart has a row before the first frame and one after each frame, ``(n + 1, 4, m + 1)``: mantissas and ranks of
``blank``, then of ``label``.

For a log-partition with its gradient, the table program takes 4 times as long (16 x 200 frames, 40 labels), twice
as long for small inputs (8 x 10 frames), and 10 times as long if the lengths of the 16 items are new.
"""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.extended import at_rank, from_log, settled, share, to_log
from strukt.kernels.jit import inner, kernel, scratch


@inner
def _weigh(scores: Array, states: Array, weight: Array) -> None:
    """Write the weights of one frame with ``scores (c,)`` to ``weight (2, places)``, as mantissas and ranks.

    Entry 0 is the weight of the blank, entry k that of the k-th label of the target.
    """
    for k in range(weight.shape[1]):
        weight[0, k] = scores[states[max(2 * k - 1, 0)]]
    for k in range(weight.shape[1]):
        weight[0, k], weight[1, k] = from_log(weight[0, k])


@inner
def _load_skips(states: Array, skips: Array) -> None:
    """Write to ``skips[k]`` 0 if the k-th label may follow the label before it without a blank, else -inf.

    This is added to a rank, so that -inf removes the term.
    """
    for k in range(skips.shape[0]):
        differs = k >= 2 and states[2 * k - 1] != states[2 * k - 3]
        skips[k] = 0.0 if differs else -np.inf


@inner
def _start(row: Array) -> None:
    """Write the row of the chart before the first frame: weight 1 in the first blank, 0 elsewhere."""
    row[0], row[2] = 0.0, 0.0
    row[1], row[3] = -np.inf, -np.inf
    row[0, 0], row[1, 0] = 1.0, 0.0


@inner
def _advance(
    blank: Array,
    blank_rank: Array,
    label: Array,
    label_rank: Array,
    weight: Array,
    skips: Array,
    following: Array,
) -> None:
    """Write one row of the chart, ``following (4, places)``, from the row before.

    The row before is given as mantissas and ranks ``(places,)``; ``weight (2, places)`` is that of `_weigh`.
    """
    places = skips.shape[0]
    mantissa, rank = weight[0, 0], weight[1, 0]
    for k in range(places):
        top = max(blank_rank[k], label_rank[k])
        total = at_rank(blank[k], blank_rank[k], top) + at_rank(label[k], label_rank[k], top)
        following[0, k], following[1, k] = settled(total * mantissa, top + rank)
    following[2, 0], following[3, 0] = 0.0, -np.inf
    for k in range(1, places):
        skipped = label_rank[k - 1] + skips[k]
        top = max(max(label_rank[k], blank_rank[k - 1]), skipped)
        total = (
            at_rank(label[k], label_rank[k], top)
            + at_rank(blank[k - 1], blank_rank[k - 1], top)
            + at_rank(label[k - 1], skipped, top)
        )
        following[2, k], following[3, k] = settled(total * weight[0, k], top + weight[1, k])


@inner
def _total(row: Array, place: int) -> tuple[float, float]:
    """Return the total over labellings that end in the last label or the blank after it, as mantissa and rank."""
    top = max(row[1, place], row[3, place])
    return at_rank(row[0, place], row[1, place], top) + at_rank(row[2, place], row[3, place], top), top


@kernel
def forward(
    logits: Array, lengths: Array, states: Array, target_lengths: Array, chart: Array, log_partition: Array,
    start: int, step: int,
) -> None:  # fmt: skip
    """Write charts and log-partitions.

    Arrays: ``logits (batch, n, c)``, ``states (batch, 2 m + 1)``, ``chart (batch, n + 1, 4, m + 1)``; ``lengths``,
    ``target_lengths`` and ``log_partition (batch,)``.
    """
    for b in range(start, logits.shape[0], step):
        places = target_lengths[b] + 1
        weight, skips = scratch(2, places), scratch(1, places)[0]
        _load_skips(states[b], skips)
        rows = chart[b, :, :, :places]
        _start(rows[0])
        for t in range(lengths[b]):
            _weigh(logits[b, t], states[b], weight)
            row = rows[t]
            _advance(row[0], row[1], row[2], row[3], weight, skips, rows[t + 1])
        log_partition[b] = to_log(*_total(rows[lengths[b]], places - 1))


@inner
def _enter(ahead: Array, weight: Array, entered: Array) -> None:
    """Write the backward sums after a frame times the weights of the frame, for each place.

    ``ahead`` and ``entered`` are ``(4, places)``, as a row of the chart.
    """
    for k in range(weight.shape[1]):
        entered[0, k], entered[1, k] = settled(ahead[0, k] * weight[0, 0], ahead[1, k] + weight[1, 0])
        entered[2, k], entered[3, k] = settled(ahead[2, k] * weight[0, k], ahead[3, k] + weight[1, k])


@inner
def _retreat(entered: Array, skips: Array, ahead: Array) -> None:
    """Write the backward sums before a frame to ``ahead (4, places)``, from the output of `_enter` for the frame.

    ``entered (4, places + 1)`` has a place of weight 0 at the end. ``skips[k]`` is 0 if label k + 1 may follow
    label k without a blank, else -inf.
    """
    for k in range(skips.shape[0]):
        skipped = entered[3, k + 1] + skips[k]
        top = max(entered[1, k], entered[3, k + 1])
        ahead[0, k] = at_rank(entered[0, k], entered[1, k], top) + at_rank(
            entered[2, k + 1], entered[3, k + 1], top
        )
        ahead[1, k] = top
        top = max(max(entered[3, k], entered[1, k]), skipped)
        ahead[2, k] = (
            at_rank(entered[2, k], entered[3, k], top)
            + at_rank(entered[0, k], entered[1, k], top)
            + at_rank(entered[2, k + 1], skipped, top)
        )
        ahead[3, k] = top


@inner
def _add_shares(
    row: Array,
    ahead: Array,
    total: float,
    rank: float,
    weight: float,
    shares: Array,
    states: Array,
    out: Array,
) -> None:
    """Add the probability of each place after a frame, times ``weight``, to that of its label in ``out (c,)``.

    ``row`` and ``ahead (4, places)`` are the forward and the backward sums after the frame; ``total`` and ``rank``
    the total over all labellings; ``shares (2, places)`` is workspace.
    """
    places = shares.shape[1]
    for k in range(places):
        shares[0, k] = share(row[0, k] * ahead[0, k], row[1, k] + ahead[1, k], total, rank)
        shares[1, k] = share(row[2, k] * ahead[2, k], row[3, k] + ahead[3, k], total, rank)
    out[states[0]] += weight * shares[0].sum()
    for k in range(1, places):
        out[states[2 * k - 1]] += weight * shares[1, k]


@kernel
def backward(
    logits: Array, lengths: Array, states: Array, target_lengths: Array, weights: Array, chart: Array,
    marginals: Array, start: int, step: int,
) -> None:  # fmt: skip
    """Write the probability of each label at each frame, times the weight of its item.

    Arrays: those of `forward`, ``weights (batch,)``, and ``marginals (batch, n, c)``.
    """
    for b in range(start, logits.shape[0], step):
        places = target_lengths[b] + 1
        rows = chart[b, :, :, :places]
        total, rank = _total(rows[lengths[b]], places - 1)
        if rank == -np.inf:
            continue
        weight, shares, skips = scratch(2, places), scratch(2, places), scratch(1, places + 1)[0]
        ahead, entered = scratch(4, places), scratch(4, places + 1)
        _load_skips(states[b], skips[:places])
        skips[places] = -np.inf
        ahead[0], ahead[1], ahead[2], ahead[3] = 1.0, -np.inf, 1.0, -np.inf
        ahead[1, places - 1] = ahead[3, places - 1] = 0.0
        entered[2, places], entered[3, places] = 0.0, -np.inf
        for t in range(lengths[b] - 1, -1, -1):
            _add_shares(rows[t + 1], ahead, total, rank, weights[b], shares, states[b], marginals[b, t])
            _weigh(logits[b, t], states[b], weight)
            _enter(ahead, weight, entered)
            _retreat(entered, skips[1:], ahead)
