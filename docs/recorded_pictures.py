"""The picture of F1 over numbers of bits, drawn from the results that are recorded in the package."""

from __future__ import annotations

from statistics import mean, stdev

from strukt.reproduce.results import Results, recorded
from strukt.viz import Curves, svg

BITS = (6, 8, 10, 12, 14, 16)


def bits() -> str:
    """Draw F1 by bits of codes, with standard deviations, and F1 of labels (recipe of constituency trees)."""
    results = recorded("bits", quick=False)
    codes = [_f1(results, f"small-{count}") for count in BITS]
    labels = _f1(results, "small-labels")
    curves = {"codes": [mean(values) for values in codes], "labels": [mean(labels)] * len(BITS)}
    deviations = {"codes": [stdev(values) for values in codes], "labels": [stdev(labels)] * len(BITS)}
    title = f"F1 on the test set, by bits: mean and deviation of {len(labels)} seeds"
    return svg.document(Curves(title, [str(count) for count in BITS], curves, deviations))


def _f1(results: Results, row: str) -> list[float]:
    """Return the F1 on the test set of each run of a row of the table `bits`."""
    return [run.test["f1"] for run in results.runs if run.row == row]


PICTURES = {"bits.svg": bits}
