"""Entropies and cross-entropies: the expected surprise of the choices of terms that make up a structure.

The surprise of a choice is -log of the share of the chosen term in its sum. Nothing cancels, for scores of any
size, because surprises are not negative: that of a term of small share is computed by logarithms, that of a
dominant term from the shares of the others.

Arrays that a docstring does not describe are those of `strukt.kernels.engine.inside_outside`.
"""

from __future__ import annotations

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.engine.growth import pass_on, sum_of_one
from strukt.kernels.engine.program import COUNT, EACH, LEFT, MIRROR, OUT, RIGHT, WEIGHT
from strukt.kernels.engine.rings import add_factors, share_out, shares
from strukt.kernels.jit import inner, kept_apart


@inner
def _surprises(
    value: Array, exponent: Array | None, weight: Array, power: Array | None, logs: Array, weight_logs: Array,
    out: int, whole: int, left: int, right: int, each: int, count: int, workspace: Array, powers: Array,
    surprises: Array,
) -> None:  # fmt: skip
    """Write the surprise -log of the share of each term of a row, ``surprises (count,)``; +inf for a term of 0.

    ``logs (cells,)`` and ``weight_logs (weights,)`` are logarithms; ``workspace (count,)`` gets the shares.
    """
    shares(value, exponent, weight, power, out, whole, left, right, each, count, workspace, powers)
    log = logs[out] - weight_logs[whole] if whole >= 0 and logs[out] > -np.inf else logs[out]
    surprises[:count] = 0.0
    add_factors(left, right, each, count, logs, weight_logs, surprises)
    dominant, rest = -1, 0.0
    for k in range(count):
        surprises[k] = max(log - surprises[k], 0.0) if surprises[k] > -np.inf else np.inf
        if workspace[k] > 0.75:  # not 0.5, which two of them can exceed by rounding
            dominant = k
        else:
            rest += workspace[k]
    if dominant >= 0:
        surprises[dominant] = -np.log1p(-rest)


@inner
def surprise(
    rows: Array, weight: Array, power: Array | None, value: Array, exponent: Array | None, other_weight: Array,
    other_power: Array | None, other_value: Array, other_exponent: Array | None, logs: Array, weight_logs: Array,
    workspace: Array, powers: Array, surprises: Array, same: bool, inner_surprise: Array, expected: Array,
) -> None:  # fmt: skip
    """Write the expected surprise of the choices at and below each cell, ``expected (cells,)``.

    Terms are chosen by their shares in the cells ``value``, and a choice has the surprise -log of its share in the
    cells ``other_value``. ``logs (cells,)`` and ``weight_logs (weights,)`` are the logarithms of the other cells
    and weights; ``same`` is True if both are the same. ``inner_surprise (weights,)`` is the expected
    surprise of the values of each weight (`feature_surprises.surprises`). ``workspace``, ``powers`` and
    ``surprises (terms,)`` are overwritten.
    """
    kept_apart()
    expected[:] = 0.0
    for s in range(rows.shape[0]):
        out, left, right = rows[s, OUT], rows[s, LEFT], rows[s, RIGHT]
        count, whole, each = rows[s, COUNT], rows[s, WEIGHT], rows[s, EACH]
        if count == 1:
            mean = sum_of_one(expected, inner_surprise, left, right, each)
        else:
            _surprises(
                other_value, other_exponent, other_weight, other_power, logs, weight_logs, out, whole, left,
                right, each, count, workspace, powers, surprises,
            )  # fmt: skip
            if not same:
                shares(value, exponent, weight, power, out, whole, left, right, each, count, workspace, powers)
            add_factors(left, right, each, count, expected, inner_surprise, surprises)
            mean = 0.0
            for k in range(count):
                if workspace[k] > 0.0:  # terms of share 0 may have infinite surprise
                    mean += workspace[k] * surprises[k]
        if whole >= 0:
            mean += inner_surprise[whole]
        expected[out] = mean if value[out] > 0.0 else 0.0
        expected[rows[s, MIRROR]] = expected[out]


@inner
def surprise_change(
    rows: Array, weight: Array, power: Array | None, value: Array, exponent: Array | None, other_weight: Array,
    other_power: Array | None, other_value: Array, other_exponent: Array | None, logs: Array, weight_logs: Array,
    workspace: Array, powers: Array, surprises: Array, same: bool, inner_surprise: Array, mass: Array,
    expected: Array, changes: Array, parts: Array,
) -> None:  # fmt: skip
    """Write the gradient of the expected surprise with respect to the logs of ``weight``, ``parts (weights,)``.

    The other weights are constants. This is `strukt.kernels.engine.growth.change` with the surprise of each term
    as its direction. `surprise` and `inside_outside.outside` must run first: their results are ``expected`` and
    ``mass``. ``changes (cells,)`` is overwritten; the other arguments are those of `surprise`.
    """
    kept_apart()
    changes[:] = 0.0
    parts[:] = 0.0
    for s in range(rows.shape[0] - 1, -1, -1):
        out, mirror, left, right = rows[s, OUT], rows[s, MIRROR], rows[s, LEFT], rows[s, RIGHT]
        count, whole, each = rows[s, COUNT], rows[s, WEIGHT], rows[s, EACH]
        moving, total = changes[out], mass[out]
        if mirror != out:
            moving += changes[mirror]
        if whole >= 0:
            parts[whole] += moving
        if total == 0.0:
            continue
        if count == 1:
            pass_on(left, right, each, moving, changes, parts)
            continue
        _surprises(
            other_value, other_exponent, other_weight, other_power, logs, weight_logs, out, whole, left, right,
            each, count, workspace, powers, surprises,
        )  # fmt: skip
        if not same:
            shares(value, exponent, weight, power, out, whole, left, right, each, count, workspace, powers)
        add_factors(left, right, each, count, expected, inner_surprise, surprises)
        mean = expected[out] - inner_surprise[whole] if whole >= 0 else expected[out]
        for k in range(count):
            workspace[k] = workspace[k] * (moving + total * (surprises[k] - mean)) if workspace[k] > 0.0 else 0.0
        share_out(left, right, each, count, workspace, changes, parts)
