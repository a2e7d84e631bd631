"""The error of kernels: what is known of it without measuring."""

import pytest
import torch
from benchmarks.kernel_error import BEST, MAPS, SIZE, entropy, errors, length_of, points, separation


@pytest.mark.parametrize("name", MAPS)
def test_maps_estimate_the_exponential_kernel(name):
    u, v = points(12, 0.7, 0)
    torch.manual_seed(0)
    features = 12 if name == "Nyström" else 100_000
    torch.testing.assert_close(MAPS[name](u, v, features), (u @ v.mT).exp(), rtol=0.05, atol=0)


def test_no_map_is_better_than_the_best_features():
    found = errors(48, 2.0, 16)
    assert all(found[BEST] < found[name] for name in MAPS)
    assert errors(48, 2.0, 48)[BEST] == 0


def test_longer_vectors_are_farther_apart_and_know_better_what_follows():
    short, long = points(40, 1.0, 0)[1], points(40, 3.0, 0)[1]
    assert separation(long) == pytest.approx(3 * separation(short))
    assert entropy(40, 3.0) < entropy(40, 1.0)
    assert separation(points(80, length_of(80, 1.5), 0)[1]) == pytest.approx(1.5)
    assert short.shape == (40, SIZE)
