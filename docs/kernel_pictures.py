"""The pictures of the benchmark of kernels: errors by the number of features, and by the number of points."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))  # the folder of `benchmarks`

from benchmarks.kernel_error import BEST, SEPARATION, errors, length_of

from strukt.viz import Curves, svg

FEATURES, POINTS = (8, 16, 32, 64, 128), (64, 128, 256, 512)
COUNT, RANK = 256, 32


def by_features() -> str:
    """Draw errors by the number of features, random ones and the best possible ones, at two lengths of vectors."""
    curves = {}
    for length in (1.0, 3.0):
        results = [errors(COUNT, length, features) for features in FEATURES]
        for name, shown in (("FAVOR+", "random"), (BEST, "best")):
            curves[f"{shown}, length {length:g}"] = [values[name] for values in results]
    title = f"Error of the kernel of {COUNT} points, by features"
    return svg.document(Curves(title, _names(FEATURES), curves))


def by_points() -> str:
    """Draw errors by the number of points: of Nyström features, and of the best possible ones.

    Vectors have the same length for all numbers of points, or one that keeps the mean distance of nearest points.
    """
    curves = {}
    for shown, length in (("same length", lambda _: 2.0), ("same separation", lambda n: length_of(n, SEPARATION))):
        results = [errors(count, length(count), RANK) for count in POINTS]
        for name, kind in (("Nyström", "Nyström"), (BEST, "best")):
            curves[f"{kind}, {shown}"] = [values[name] for values in results]
    return svg.document(Curves(f"Error of the kernel by points, with {RANK} features", _names(POINTS), curves))


def _names(numbers: tuple[int, ...]) -> list[str]:
    return [f"{number:,}" for number in numbers]


PICTURES = {"kernel-features.svg": by_features, "kernel-points.svg": by_points}
