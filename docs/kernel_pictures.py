"""The pictures of the benchmark of kernels: errors against features and points, by separation."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))  # the benchmarks stand beside the documentation

from benchmarks.kernel_error import BEST, SEPARATION, errors, length_of

from strukt.viz import Curves, svg

FEATURES, POINTS = (8, 16, 32, 64, 128), (64, 128, 256, 512)
COUNT, RANK = 256, 32


def by_features() -> str:
    """More features for as many points: random ones, and the best ones, at two lengths."""
    curves = {}
    for length in (1.0, 3.0):
        found = [errors(COUNT, length, features) for features in FEATURES]
        for name, shown in (("FAVOR+", "random"), (BEST, "best")):
            curves[f"{shown}, length {length:g}"] = [values[name] for values in found]
    title = f"Error of the kernel of {COUNT} points, by features"
    return svg.document(Curves(title, _names(FEATURES), curves))


def by_points() -> str:
    """More points for as many features, Nyström and the best ones: at the same length, and as far apart."""
    curves = {}
    for shown, length in (("same length", lambda _: 2.0), ("same separation", lambda n: length_of(n, SEPARATION))):
        found = [errors(count, length(count), RANK) for count in POINTS]
        for name, kind in (("Nyström", "Nyström"), (BEST, "best")):
            curves[f"{kind}, {shown}"] = [values[name] for values in found]
    return svg.document(Curves(f"Error of the kernel by points, with {RANK} features", _names(POINTS), curves))


def _names(numbers: tuple[int, ...]) -> list[str]:
    return [f"{number:,}" for number in numbers]


PICTURES = {"kernel-features.svg": by_features, "kernel-points.svg": by_points}
