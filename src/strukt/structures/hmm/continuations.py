"""The probability that the words to come bring an automaton to an accepting state.

Let ``M_k[q, z]`` be this probability if k more words come, the automaton is in state q, and the last word came
from hidden state z. ``B_k[q, z]`` is the same if z emits the next word. Then, unless the text has ended in q,

    M_0[q, z] = 1 if q accepts, else 0
    B_k[q, z] = sum over classes c of words of  p(c | z) M_k-1[after(q, c), z]       M_k = B_k A'

where A is the transition matrix. If the text has ended in q, M_k is M_0 for all k. All classes of words between
the same two states of the automaton form one arc.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from strukt.kernels.semiring import NEG_INF, finite
from strukt.structures.hmm.steps import retreat, steps


class Constraint(NamedTuple):
    """A deterministic automaton over words.

    Attributes:
        transitions: ``(q, c)``, the next state, from each state by a word of each class.
        accepting: ``(q,)``, Boolean.
        classes: ``(v,)``, the class of each word.
        settled: ``(q,)``, Boolean: states in which the text has ended, so that more words do not count.
    """

    transitions: Tensor
    accepting: Tensor
    classes: Tensor
    settled: Tensor


class Continuations(NamedTuple):
    """The probabilities of meeting the constraint, M_k, each row relative to its largest entry.

    Attributes:
        shares: ``(n, q, z)``, where ``[k]`` is for k words to come; the largest entry of each row is 1, or all
            are 0.
        logs: ``(n, q)``, the log of the largest entry of each row; -inf if the constraint cannot be met.
    """

    shares: Tensor
    logs: Tensor


class _Arcs(NamedTuple):
    """The pairs of states of the automaton between which some word leads.

    Attributes:
        source: ``(a,)``, the state before the word.
        target: ``(a,)``, the state after it.
        shares: ``(a, z)``, the probability that a hidden state emits such a word, relative to the largest one.
        logs: ``(a,)``, the log of this largest probability.
    """

    source: Tensor
    target: Tensor
    shares: Tensor
    logs: Tensor


def continuations(
    constraint: Constraint,
    length: int,
    emission: Tensor,
    matrices: tuple[Tensor, ...],
    band: Tensor | None,
) -> Continuations:
    """Compute the tables for 0 to ``length - 1`` words to come.

    Takes O(n (q z r + a z)) time for a <= q min(q, c) arcs, and O(v (z + c) + q c z) to compute these arcs.

    Args:
        constraint: The automaton of the constraint.
        length: The number of words n, at least 1.
        emission: ``(v, z)``, the log-probability of each word in each state.
        matrices: The factors of the transition matrix, as in `strukt.structures.hmm.steps.steps`.
        band: The band of the transition matrix, ``(z, 2 w + 1)``; None for no band.
    """
    q, z = len(constraint.accepting), emission.shape[1]
    moving = steps(matrices, band)
    back, arcs = moving.transposed(), _arcs(constraint, emission)
    shares, logs = emission.new_empty(length, q, z), emission.new_empty(length, q)
    shares[0] = constraint.accepting.to(emission.dtype).unsqueeze(1)
    logs[0] = torch.where(constraint.accepting, 0.0, NEG_INF)
    for left in range(1, length):
        tops = arcs.logs + logs[left - 1, arcs.target]
        highest = tops.new_full((q,), NEG_INF).scatter_reduce(0, arcs.source, tops, "amax")
        weights = torch.where(tops > NEG_INF, (tops - highest[arcs.source]).exp(), 0.0)
        reached = weights.unsqueeze(1) * arcs.shares * shares[left - 1, arcs.target]
        before = emission.new_zeros(q, z).index_add_(0, arcs.source, reached)
        rows, log_sums = _divided_by_largest(retreat(before, moving, back))
        shares[left] = torch.where(constraint.settled.unsqueeze(1), shares[0], rows)
        logs[left] = torch.where(constraint.settled, logs[0], highest + log_sums)
    return Continuations(shares, logs)


def _arcs(constraint: Constraint, emission: Tensor) -> _Arcs:
    """Return the arcs of an automaton, with their probabilities in each hidden state, from ``emission (v, z)``."""
    q, c = constraint.transitions.shape
    pairs = torch.arange(q, device=emission.device).unsqueeze(1) * q + constraint.transitions
    used, numbers = torch.unique(pairs, return_inverse=True)
    logs = emission.new_full((len(used), emission.shape[1]), NEG_INF)
    for letter in range(c):
        # One class leads from each state along one arc, so no index in numbers[:, letter] occurs twice.
        emitted = torch.logsumexp(emission[constraint.classes == letter], 0)
        logs[numbers[:, letter]] = torch.logaddexp(logs[numbers[:, letter]], emitted)
    tops = logs.amax(1)
    shares = (logs - finite(tops).unsqueeze(1)).exp()
    return _Arcs(used // q, used % q, shares, tops)


def _divided_by_largest(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Divide rows by their largest entries; return the rows and the logs of these entries."""
    tops = rows.amax(1)
    return rows / torch.where(tops > 0, tops, 1.0).unsqueeze(1), tops.log()
