"""The penalised likelihood of chains and its gradient, computed in batches of sequences of similar length."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor

from strukt.distributions import LinearChain
from strukt.kernels import active_features
from strukt.kernels.arrays import Array
from strukt.kernels.jit import over_batch, thread_count
from strukt.sklearn.features import Features, state_keys
from strukt.sklearn.tokens import Labelled

LARGEST = 1 << 17
"""Maximum number of scores in a batch; a sequence with more scores is a batch of its own."""


class Batch(NamedTuple):
    """A batch of sequences of similar length.

    Attributes:
        sequences: `(sequences,)`; the indices of the sequences.
        lengths: `(sequences,)`; the numbers of tokens, descending.
        tokens: `(tokens, attributes)`; a row for each token, sparse or dense, one sequence after another.
        cells: `(tokens,)`; the index of each token in the flattened padded array `(sequences, longest)`.
    """

    sequences: Array
    lengths: Tensor
    tokens: Any
    cells: Array

    @property
    def longest(self) -> int:
        """The padded length, 1 or more."""
        return max(int(self.lengths[0]), 1)


def batches(tokens: Any, lengths: Array, labels: int) -> Iterator[Batch]:
    """Divide sequences into batches of at most `LARGEST` scores, the longest first."""
    begins = np.cumsum(lengths) - lengths
    order = np.argsort(-lengths, kind="stable")
    first = 0
    while first < len(order):
        longest = max(int(lengths[order[first]]), 1)
        taken = order[first : first + max(LARGEST // (longest * labels), 1)]
        first += len(taken)
        inside = np.arange(longest) < lengths[taken, None]
        rows = (begins[taken, None] + np.arange(longest))[inside]
        yield Batch(taken, torch.from_numpy(lengths[taken]), tokens[rows], np.flatnonzero(inside))


def scores(batch: Batch, features: Features, weights: Array) -> tuple[Tensor, Tensor]:
    """Return the unary scores of a batch, `(sequences, longest, c)`, and the transition scores `(c, c)`."""
    states, transitions = features.parts(weights)
    count, longest = len(batch.sequences), batch.longest
    unary = np.empty((count * longest, features.classes))
    if isinstance(batch.tokens, csr_array):
        arrays = batch.tokens.indptr, batch.tokens.indices, batch.tokens.data
        threads = thread_count(len(batch.cells), batch.tokens.nnz * features.classes)
        places = features.starts, features.labels
        over_batch(active_features.gather, threads, *arrays, *places, states, batch.cells, unary)
    else:
        unary[batch.cells] = _product(batch.tokens, states.reshape(-1, features.classes))
    return torch.from_numpy(unary).view(count, longest, features.classes), torch.from_numpy(
        transitions.copy()
    )


class NegativeLogLikelihood:
    """The negative log-likelihood of all labelled sequences, plus `l2` times the squared norm of the weights.

    The gradient is the difference of expected and observed feature values (Lafferty et al. 2001).

    Args:
        data: Sequences with labels.
        features: The features that have a weight.
        l2: Weight of the squared norm.

    Attributes:
        observed: `(weights,)`, the sum of each feature's values under the given labels; 0 for unused features.

    Complexity: Time O(m + n c^2) per call, for n tokens with m state features and c classes; memory for one batch.
    """

    def __init__(self, data: Labelled, features: Features, l2: float) -> None:
        self.features, self.l2 = features, l2
        self._batches = list(batches(data.tokens, data.lengths, features.classes))
        self.observed = np.where(features.used, _values(data, features), 0.0)

    def __call__(self, weights: Array) -> tuple[float, Array]:
        """Return the value, and the gradient `(weights,)`, which is 0 for unused weights."""
        value, gradient = self.l2 * float(weights @ weights), np.zeros_like(weights)
        value += sum(self._add_expectations(batch, weights, gradient) for batch in self._batches)
        value -= float(weights @ self.observed)
        gradient += 2.0 * self.l2 * weights - self.observed
        gradient[~self.features.used] = 0.0
        return value, gradient

    def _add_expectations(self, batch: Batch, weights: Array, expected: Array) -> float:
        """Add the expected feature values of a batch to `expected`; return the sum of its log-partitions."""
        unary, transition = scores(batch, self.features, weights)
        unary.requires_grad_()
        transition.requires_grad_()
        log_partition = LinearChain(unary, transition, batch.lengths, validate_args=False).log_partition.sum()
        tags, pairs = torch.autograd.grad(log_partition, (unary, transition))
        states, transitions = self.features.parts(expected)
        transitions += pairs.numpy()
        marginals = tags.numpy().reshape(-1, self.features.classes)
        _add_states(batch, self.features, marginals, states)
        return log_partition.item()


def _add_states(batch: Batch, features: Features, marginals: Array, out: Array) -> None:
    """Add the expected values of state features to `out`, `(states,)`.

    `marginals`, `(sequences * longest, c)`, are the probabilities of labels, indexed by `Batch.cells`.
    """
    if not isinstance(batch.tokens, csr_array):
        out += _product(batch.tokens.T, marginals[batch.cells]).ravel()
        return
    arrays = batch.tokens.indptr, batch.tokens.indices, batch.tokens.data
    threads = thread_count(features.classes, batch.tokens.nnz * features.classes)
    places = features.starts, features.labels
    over_batch(active_features.scatter, threads, *arrays, *places, batch.cells, marginals, out)


def _product(left: Array, right: Array) -> Array:
    """Multiply matrices with PyTorch, on all its threads; `minimise` limits NumPy to one thread."""
    return (torch.from_numpy(left) @ torch.tensor(right)).numpy()


def _values(data: Labelled, features: Features) -> Array:
    """Return the observed value of each feature: the sum of its values under the given labels."""
    result = np.zeros(len(features.used))
    states, transitions = features.parts(result)
    np.add.at(transitions, data.pairs, 1.0)
    if isinstance(data.tokens, csr_array):
        keys, observed_keys = features.states, state_keys(data, features.classes)
        places = np.minimum(np.searchsorted(keys, observed_keys), max(len(keys) - 1, 0))
        present = keys[places] == observed_keys if len(keys) else np.zeros(len(observed_keys), np.bool_)
        states[:] = np.bincount(places[present], data.tokens.data[present], len(keys))
    else:
        chosen = np.eye(features.classes)[data.labels]
        states[:] = (data.tokens.T @ chosen).ravel()
    return result
