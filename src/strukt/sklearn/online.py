"""Online learning: add the features of new sequences to a model, and update its weights every few sequences."""

from __future__ import annotations

from typing import Any

import numpy as np

from strukt.sklearn import ftrl
from strukt.sklearn.features import Features, of_keys
from strukt.sklearn.likelihood import NegativeLogLikelihood
from strukt.sklearn.model import ChainModel
from strukt.sklearn.tokens import Labelled

ROUND = 8
"""Number of sequences per update of the weights."""


def begun(classes: list[Any], columns: dict[str, int] | None, features: Features) -> ChainModel:
    """Return an untrained model, with weights of 0."""
    weights, sums, squares = np.zeros((3, len(features.used)))
    return ChainModel(classes, columns, features, weights, ftrl.Stream(sums, squares))


def extended(model: ChainModel, features: Features, columns: dict[str, int] | None) -> ChainModel:
    """Return the model with its own features and additional ones, whose weights are 0."""
    (old, old_pairs), (new, new_pairs) = (each.parts(each.used) for each in (model.features, features))
    states = np.union1d(model.features.states[old], features.states[new])
    both = of_keys(states, old_pairs | new_pairs, len(features.starts) - 1)
    weights, *stream = (model.features.moved(values, both) for values in (model.weights, *model.stream))
    return ChainModel(model.classes, columns, both, weights, ftrl.Stream(*stream))


def learned(model: ChainModel, data: Labelled, l1: float, l2: float, rate: float) -> ChainModel:
    """Return the model after one pass over the sequences, with an update every `ROUND` sequences.

    Complexity: Time O(m + n c^2) for n tokens with m weights in total, and O(weights) per round.
    """
    stream, weights, begin = model.stream, model.weights, 0
    for first in range(0, len(data.lengths), ROUND):
        lengths = data.lengths[first : first + ROUND]
        tokens = slice(begin, begin + int(lengths.sum()))
        begin = tokens.stop
        part = Labelled(data.tokens[tokens], lengths, data.labels[tokens])
        _, gradient = NegativeLogLikelihood(part, model.features, 0.0)(weights)
        stream = ftrl.follow(stream, weights, gradient, rate)
        weights = ftrl.weights_of(stream, l1, l2, rate)
    return ChainModel(model.classes, model.columns, model.features, weights, stream)
