"""The objective of chains against enumeration, and its gradient against differences."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from strukt.sklearn import likelihood
from strukt.sklearn.features import observed, of_keys
from strukt.sklearn.likelihood import NegativeLogLikelihood, batches
from strukt.sklearn.tokens import Labelled


def example(seed, count=3, attributes=7, lengths=(4, 0, 1, 3, 4)):
    """Labelled sequences with random sparse tokens, of which some values are 0 or negative."""
    generator = np.random.default_rng(seed)
    size = sum(lengths)
    matrix = generator.integers(-1, 3, (size, attributes)) * (generator.random((size, attributes)) < 0.6)
    labels = generator.integers(0, count, size)
    return Labelled(csr_array(matrix.astype(float)), np.array(lengths), labels)


def by_enumeration(data, features, weights, l2):
    """The objective from the scores of all labellings."""
    states, transitions = features.parts(weights)
    table = np.zeros((data.tokens.shape[1], features.classes))
    table.ravel()[features.states] = states
    scores, begin, total = data.tokens.toarray() @ table, 0, l2 * (weights @ weights)
    for length in data.lengths:
        rows, gold = scores[begin : begin + length], data.labels[begin : begin + length]
        begin += length
        score = {
            tags: sum(rows[t, tag] for t, tag in enumerate(tags))
            + sum(transitions[a, b] for a, b in itertools.pairwise(tags))
            for tags in itertools.product(range(features.classes), repeat=int(length))
        }
        total += np.logaddexp.reduce(list(score.values())) - score[tuple(gold.tolist())]
    return total


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("full", [False, True])
def test_the_objective_is_that_of_all_labellings(seed, full):
    data = example(seed)
    features = observed(data, 3, 0.0, full, full)
    weights = np.random.default_rng(seed).standard_normal(len(features.used)) * features.used
    value, _ = NegativeLogLikelihood(data, features, 0.3)(weights)
    assert value == pytest.approx(by_enumeration(data, features, weights, 0.3), rel=1e-12)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("min_freq", [0.0, 2.0])
def test_the_gradient_is_that_of_differences(seed, min_freq):
    data = example(seed)
    features = observed(data, 3, min_freq, False, False)
    objective = NegativeLogLikelihood(data, features, 0.3)
    weights = np.random.default_rng(seed).standard_normal(len(features.used)) * features.used
    _, gradient = objective(weights)
    assert (gradient[~features.used] == 0).all()
    for place in np.flatnonzero(features.used):
        step = np.zeros_like(weights)
        step[place] = 1e-5
        slope = (objective(weights + step)[0] - objective(weights - step)[0]) / 2e-5
        assert gradient[place] == pytest.approx(slope, abs=1e-6)


def test_vectors_are_as_sparse_tokens_with_all_features():
    data = example(1)
    features = observed(data, 3, 0.0, True, True)
    as_vectors = data._replace(tokens=data.tokens.toarray())
    assert all(map(np.array_equal, features, observed(as_vectors, 3, 0.0, False, True)))
    weights = np.random.default_rng(0).standard_normal(len(features.used))
    for sparse, dense in zip(
        NegativeLogLikelihood(data, features, 0.1)(weights),
        NegativeLogLikelihood(as_vectors, features, 0.1)(weights),
        strict=True,
    ):
        np.testing.assert_allclose(sparse, dense, rtol=1e-12, atol=1e-12)


def test_batches_hold_each_sequence_once_and_change_nothing(monkeypatch):
    data = example(2, lengths=(3, 9, 1, 0, 5, 5, 2, 30, 4))
    features = observed(data, 3, 0.0, False, True)
    weights = np.random.default_rng(0).standard_normal(len(features.used)) * features.used
    value, gradient = NegativeLogLikelihood(data, features, 0.1)(weights)
    monkeypatch.setattr(likelihood, "LARGEST", 3 * 12)
    small = list(batches(data.tokens, data.lengths, 3))
    assert sorted(np.concatenate([batch.sequences for batch in small]).tolist()) == list(range(9))
    assert len(small) > 3
    assert all(len(batch.sequences) * batch.longest <= 12 or len(batch.sequences) == 1 for batch in small)
    again = NegativeLogLikelihood(data, features, 0.1)(weights)
    assert again[0] == pytest.approx(value)
    np.testing.assert_allclose(again[1], gradient, rtol=1e-10, atol=1e-10)


def test_threads_change_nothing():
    data = example(3, count=5, attributes=40, lengths=(20,) * 60)
    features = observed(data, 5, 0.0, False, False)
    weights = np.random.default_rng(0).standard_normal(len(features.used)) * features.used
    objective, threads, results = NegativeLogLikelihood(data, features, 0.1), torch.get_num_threads(), []
    try:
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            results.append(objective(weights))
    finally:
        torch.set_num_threads(threads)
    for value, gradient in results[1:]:
        assert value == pytest.approx(results[0][0], rel=1e-12)
        np.testing.assert_allclose(gradient, results[0][1], rtol=1e-9, atol=1e-9)


def test_features_are_those_that_occur_often_enough():
    tokens = csr_array(np.array([[1.0, 0.0, 2.0], [1.0, 0.0, 0.0], [0.0, -3.0, 0.5]]))
    data = Labelled(tokens, np.array([2, 1]), np.array([0, 1, 9]))
    features = observed(data, 10, 2.0, False, False)
    states, pairs = features.parts(features.used)
    assert features.states[states].tolist() == [1 * 10 + 9, 2 * 10 + 0]
    assert not pairs.any()
    assert (
        observed(data, 10, 0.0, False, False).parts(observed(data, 10, 0.0, False, False).used)[1].sum() == 1
    )


def test_attributes_with_many_labels_have_room_for_all():
    features = of_keys(np.array([0, 1, 3, 4 + 2]), np.zeros((4, 4), np.bool_), 3)
    assert features.starts.tolist() == [0, 4, 5, 5]
    assert features.labels.tolist() == [0, 1, 2, 3, 2]
    assert features.used[:5].tolist() == [True, True, False, True, True]
