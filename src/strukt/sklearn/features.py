"""The features of a chain: the pairs of attribute and label, and the transitions, that have a weight."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from strukt.kernels.arrays import Array
from strukt.sklearn.tokens import Labelled

WIDE = 0.5
"""If an attribute occurs with at least this share of the labels, it is stored for all labels, for faster loops."""


class Features(NamedTuple):
    """Layout of the weights: state features by attribute, followed by all pairs of labels.

    Attributes:
        classes: The number of labels c.
        starts: `(attributes + 1,)`; the state features of attribute a have the indices from `starts[a]` up to, not
            including, `starts[a + 1]`.
        labels: `(states,)`; the label of each state feature, ascending within an attribute.
        used: `(states + c * c,)`; True if the weight may differ from 0.
    """

    classes: int
    starts: Array
    labels: Array
    used: Array

    @property
    def states(self) -> Array:
        """The key of each state feature, `(states,)`: attribute times c plus label; ascending."""
        attributes = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        return attributes * self.classes + self.labels

    def parts(self, weights: Array) -> tuple[Array, Array]:
        """Return views of the weights of state features, `(states,)`, and of transitions, `(c, c)`."""
        size = len(self.labels)
        return weights[:size], weights[size:].reshape(self.classes, self.classes)

    def moved(self, values: Array, to: Features) -> Array:
        """Convert values to the layout of `to`, which includes these features; new features get 0."""
        states, transitions = self.parts(values)
        moved = np.zeros(len(to.used))
        moved[np.searchsorted(to.states, self.states)] = states
        to.parts(moved)[1][:] = transitions
        return moved


def of_keys(states: Array, transitions: Array, attributes: int) -> Features:
    """Lay out the features with these keys of state features (see `Features.states`) and mask of transitions."""
    count = len(transitions)
    wide = np.bincount(states // count, minlength=attributes) >= WIDE * count
    complete = np.flatnonzero(wide)[:, None] * count + np.arange(count)
    keys = np.union1d(states, complete.ravel())
    used = np.zeros(len(keys), np.bool_)
    used[np.searchsorted(keys, states)] = True
    starts = np.searchsorted(keys, np.arange(attributes + 1) * count)
    return Features(
        count, starts, (keys % count).astype(np.int32), np.concatenate([used, transitions.ravel()])
    )


def observed(
    data: Labelled, count: int, min_freq: float, all_states: bool, all_transitions: bool
) -> Features:
    """Return the features that occur in labelled sequences.

    Args:
        data: Sequences with labels.
        count: The number of labels.
        min_freq: Minimum frequency of a feature; an occurrence of an attribute counts its absolute value.
        all_states: Give each attribute a feature for each label, at any frequency; dense tokens always get them.
        all_transitions: Give each pair of labels a feature.

    Complexity: Time O(m log m) for m values of attributes.
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
    """Return the key of each stored value of sparse tokens: attribute times `count`, plus the token's label."""
    sizes = np.diff(data.tokens.indptr)
    labels = np.repeat(data.labels, sizes)
    keys: Array = labels + data.tokens.indices.astype(np.int64) * count
    return keys
