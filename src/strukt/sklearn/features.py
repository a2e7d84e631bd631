"""The features of a chain: which attributes and labels, and which pairs of labels, have a weight."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from strukt.sklearn.tokens import Labelled

Array = npt.NDArray[Any]

WIDE = 0.5
"""The share of labels from which on an attribute gets room for all of them: vector loops are faster by more."""


class Features(NamedTuple):
    """Places of weights: first those of state features by attribute, then those of all pairs of labels.

    Attributes:
        classes: The number of labels c.
        starts: ``(attributes + 1,)``: the state features of attribute a are those from ``starts[a]`` to
            ``starts[a + 1]``.
        labels: Of each state feature, rising within an attribute.
        used: Of each place, also those of the pairs ``(c * c,)``, whether its weight may differ from 0.
    """

    classes: int
    starts: Array
    labels: Array
    used: Array

    @property
    def states(self) -> Array:
        """Attribute times c plus label of each state feature, rising."""
        attributes = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        return attributes * self.classes + self.labels

    def parts(self, weights: Array) -> tuple[Array, Array]:
        """Weights of state features, and of transitions ``(c, c)``, without copies."""
        size = len(self.labels)
        return weights[:size], weights[size:].reshape(self.classes, self.classes)

    def moved(self, values: Array, to: Features) -> Array:
        """Numbers at the places of these features, at those of others that have at least the same; 0 elsewhere."""
        states, transitions = self.parts(values)
        moved = np.zeros(len(to.used))
        moved[np.searchsorted(to.states, self.states)] = states
        to.parts(moved)[1][:] = transitions
        return moved


def of_keys(states: Array, transitions: Array, attributes: int) -> Features:
    """Make features of states, as in `Features.states`, and of the pairs of labels in use, ``(c, c)``."""
    count = len(transitions)
    wide = np.bincount(states // count, minlength=attributes) >= WIDE * count
    room = np.flatnonzero(wide)[:, None] * count + np.arange(count)
    keys = np.union1d(states, room.ravel())
    used = np.zeros(len(keys), np.bool_)
    used[np.searchsorted(keys, states)] = True
    starts = np.searchsorted(keys, np.arange(attributes + 1) * count)
    return Features(
        count, starts, (keys % count).astype(np.int32), np.concatenate([used, transitions.ravel()])
    )


def observed(
    data: Labelled, count: int, min_freq: float, all_states: bool, all_transitions: bool
) -> Features:
    """Find the features that occur in labelled sequences.

    Args:
        data: Sequences with labels.
        count: The number of labels.
        min_freq: A feature must occur as often; an attribute with a value counts as often as its value says.
        all_states: Whether each attribute has a feature for each label, no matter whether they occur together.
        all_transitions: Whether each pair of labels has a feature.

    Time O(m log m) for m values of attributes.
    """
    attributes = data.tokens.shape[1]
    followed = np.zeros((count, count))
    np.add.at(followed, data.pairs, 1.0)
    transitions = (
        np.full_like(followed, True, np.bool_) if all_transitions else followed >= max(min_freq, 1.0)
    )
    if all_states or not isinstance(data.tokens, csr_array):
        return of_keys(np.arange(attributes * count), transitions, attributes)
    keys, places = np.unique(state_keys(data, count), return_inverse=True)
    often = np.bincount(places, np.abs(data.tokens.data), len(keys)) >= min_freq
    return of_keys(keys[often], transitions, attributes)


def state_keys(data: Labelled, count: int) -> Array:
    """Attribute times c plus the label of its token, for each value of sparse tokens."""
    sizes = np.diff(data.tokens.indptr)
    labels = np.repeat(data.labels, sizes)
    keys: Array = labels + data.tokens.indices.astype(np.int64) * count
    return keys
