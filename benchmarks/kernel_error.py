"""The error of feature maps of the softmax kernel, by the numbers of features and points, and by separation."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

import torch
from torch import Tensor

from benchmarks.page import section_command
from benchmarks.report import table
from strukt.nn.feature_maps import normal_rows

SIZE, SEEDS = 16, 7
FEATURES, POINTS, LENGTHS = (16, 64, 256, 1024), (64, 256, 1024), (1.0, 2.0, 3.0)
SEPARATION = 1.5
"""The `separation` of points in those rows of the table in which it is the same for all numbers of points."""


def points(count: int, length: float, seed: int) -> tuple[Tensor, Tensor]:
    """Return vectors of a length in random directions, ``(count, SIZE)``: states before and after a transition."""
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randn(2, count, SIZE, generator=generator, dtype=torch.float64)
    before, after = length * drawn / drawn.norm(dim=2, keepdim=True)
    return before, after


def separation(after: Tensor) -> float:
    """Return the mean distance from a point to the nearest other one."""
    distances = torch.cdist(after, after).fill_diagonal_(torch.inf)
    return distances.amin(1).mean().item()


def length_of(count: int, apart: float) -> float:
    """Return the length of vectors at which their `separation` is ``apart``."""
    return apart / separation(points(count, 1.0, 0)[1])


def random_positive(u: Tensor, v: Tensor, features: int) -> Tensor:
    """Estimate the kernel exp(u v) by FAVOR+: positive random features (Choromanski et al. 2021)."""
    rows = normal_rows(SIZE, features, True).to(u)
    logs = [x @ rows.mT - x.square().sum(1, keepdim=True) / 2 for x in (u, v)]
    return logs[0].exp() @ logs[1].exp().mT / features


def fourier(u: Tensor, v: Tensor, features: int) -> Tensor:
    """Estimate it by random Fourier features, of either sign, of its Gaussian factor (Rahimi and Recht 2007)."""
    rows = normal_rows(SIZE, features // 2, True).to(u)
    waves = [torch.cat([(x @ rows.mT).cos(), (x @ rows.mT).sin()], 1) for x in (u, v)]
    grown = [(x.square().sum(1, keepdim=True) / 2).exp() * wave for x, wave in zip((u, v), waves, strict=True)]
    return grown[0] @ grown[1].mT / (features // 2)


def nystrom(u: Tensor, v: Tensor, features: int) -> Tensor:
    """Estimate it by Nyström features: similarities to landmarks, random rows of v (Williams and Seeger 2001)."""
    landmarks = v[torch.randperm(len(v))[:features]]
    middle = torch.linalg.pinv((landmarks @ landmarks.mT).exp(), hermitian=True)
    return (u @ landmarks.mT).exp() @ middle @ (landmarks @ v.mT).exp()


MAPS: dict[str, Callable[[Tensor, Tensor, int], Tensor]] = {
    "FAVOR+": random_positive,
    "Fourier": fourier,
    "Nyström": nystrom,
}
BEST = "any features"
"""The name of the least error of any features."""


def errors(count: int, length: float, features: int) -> dict[str, float]:
    """Return the relative error of the transition matrix by each map, and the least by any map of this size.

    Errors are in the Frobenius norm; the rows of each kernel are divided by their exact sums. The least error is
    that of leaving out all but the largest ``features`` singular values (Eckart and Young 1936). Each error is the
    median of `SEEDS` draws.
    """
    results: dict[str, list[float]] = {name: [] for name in [*MAPS, BEST]}
    for seed in range(SEEDS):
        u, v = points(count, length, seed)
        kernel = (u @ v.mT).exp()
        sums = kernel.sum(1, keepdim=True)
        exact = kernel / sums
        torch.manual_seed(seed)
        for name, estimate in MAPS.items():
            results[name].append(((estimate(u, v, features) / sums - exact).norm() / exact.norm()).item())
        values = torch.linalg.eigvalsh(exact.mT @ exact).clamp(min=0)  # squares of singular values, ascending
        results[BEST].append((values[: max(count - features, 0)].sum() / values.sum()).sqrt().item())
    return {name: median(values) for name, values in results.items()}


def entropy(count: int, length: float) -> float:
    """Return the mean entropy of the next state, in nats."""
    u, v = points(count, length, 0)
    rows = (u @ v.mT).softmax(1)
    return -(rows * rows.log()).sum(1).mean().item()


def _row(count: int, length: float, features: int) -> list[str]:
    apart = separation(points(count, length, 0)[1])
    cells = [f"{value:.2g}" for value in errors(count, length, features).values()]
    return [f"{count:,}", f"{length:.2f}", f"{apart:.2f}", f"{entropy(count, length):.2f}", str(features), *cells]


def report() -> str:
    """Return two tables: by the number of features with the points fixed, and by the number of points."""
    maps = [f"{name}, error" for name in [*MAPS, BEST]]
    header = ["points", "length", "separation", "entropy, nats", "features", *maps]
    count, features = POINTS[-1], FEATURES[1]
    by_features = table(header, [_row(count, length, m) for length in LENGTHS for m in FEATURES])
    lengths = [(n, LENGTHS[1]) for n in POINTS] + [(n, length_of(n, SEPARATION)) for n in POINTS]
    by_points = table(header, [_row(n, length, features) for n, length in lengths])
    return f"More features:\n\n{by_features}\n\nMore points:\n\n{by_points}"


if __name__ == "__main__":
    section_command("kernel_error", "kernel-error", __doc__, report)
