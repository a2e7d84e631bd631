"""Scores up to 1e15 in size: marginals stay in the polytope of the structures, sums are those of enumeration."""

import numpy as np
import pytest
import torch
from scipy.optimize import nnls

from strukt.testing.subjects import STRUCTURES

SUMMED = [subject for subject in STRUCTURES if not {"log_partition", "marginals"} & subject.lacks]


LAST = {subject.name.split(",")[0]: subject.name for subject in SUMMED}.values()
"""One kind of each structure; the others are slow."""


def signs(score, generator):
    return torch.where(torch.rand(score.shape, generator=generator) < 0.5, -1.0, 1.0).double()


def rare(score, generator, share, value):
    return torch.where(torch.rand(score.shape, generator=generator) < share, value, score)


PATTERNS = {
    "all -1e15": lambda score, _: torch.full_like(score, -1e15),
    "all 1e15": lambda score, _: torch.full_like(score, 1e15),
    "1e15 of both signs": lambda score, generator: 1e15 * signs(score, generator),
    "up to 1e12": lambda score, _: 1e12 * score.clamp(-1, 1),
    "1e6": lambda score, _: 1e6 * score,
    "masks of -1e15": lambda score, generator: rare(score, generator, 0.5, -1e15),
    "a few of 1e15": lambda score, generator: rare(score, generator, 0.1, 1e15),
    "with -inf": lambda score, generator: rare(1e15 * signs(score, generator), generator, 0.25, -torch.inf),
}


@pytest.mark.thinned("pattern", "backend")
@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize(
    "subject",
    [
        pytest.param(subject, id=subject.name, marks=() if subject.name in LAST else pytest.mark.slow)
        for subject in SUMMED
    ],
)
def test_large_scores(subject, pattern, backend, monkeypatch):
    monkeypatch.setenv("STRUKT_BACKEND", backend)
    generator = torch.Generator().manual_seed(5)
    case = subject.case((4,), lengths=[subject.size, subject.size - 1, 2, 1])
    large = [PATTERNS[pattern](score, generator) for score in case.scores]
    if "kernel" in subject.arguments:  # a matrix of similarities, no score
        large[-1] = case.scores[-1]
    for dtype in (torch.float64, torch.float32):
        check(case.with_scores(large).map(lambda score, dtype=dtype: score.to(dtype)))


@pytest.mark.parametrize("bonus", [1500.0, 2839.0, 2998.0, 6000.0])
@pytest.mark.parametrize(
    "subject",
    [
        pytest.param(subject, id=subject.name, marks=() if subject.name in LAST else pytest.mark.slow)
        for subject in SUMMED
        if "kernel" not in subject.arguments
    ],
)
def test_one_score_far_above_all_others(subject, bonus):
    """Where exponentials of double the exponent wrap around, such a weight came to be a number like others."""
    case = subject.case((1,), lengths=[subject.size])
    scores = [torch.zeros_like(score) for score in case.scores]
    scores[0].flatten()[case.used()[0].flatten().nonzero()[-1]] = bonus
    check(case.with_scores(scores))


def check(case):
    distribution = case.distribution()
    log_partition, marginals = distribution.log_partition.double(), distribution.marginals.double()
    size = max(float(score[score.isfinite()].abs().max()) for score in case.scores)
    precision = 1e-4 + 20 * size * torch.finfo(case.scores[0].dtype).eps
    for index in case.indices:
        table = case.item(index).map(torch.Tensor.double).table()
        possible = table.scores > -torch.inf
        if not possible.any():
            assert log_partition[index] == -torch.inf
            assert (marginals[index] == 0).all()
            continue
        expected = table.scores.logsumexp(0).item()
        assert log_partition[index].item() == pytest.approx(expected, abs=precision)
        found = marginals[index].flatten().numpy()
        assert np.isfinite(found).all()
        assert -1e-6 <= found.min() <= found.max() <= 1 + 1e-5
        corners = table.parts[possible].flatten(1).double().numpy()
        corners = np.concatenate([corners.T, np.ones((1, len(corners)))])
        assert nnls(corners, np.append(found, 1.0))[1] < 1e-4
