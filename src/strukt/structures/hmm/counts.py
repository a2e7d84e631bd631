"""Expected counts of the parameters of a hidden Markov model: the E step of EM."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from strukt.kernels.gradients import differentiated
from strukt.structures.hmm.forward_backward import log_evidence


@dataclass(frozen=True)
class Counts:
    """Expected counts given observations; ``+`` adds up batches, so that a corpus need not be in memory.

    There are z states and v words; a low-rank transition has r features; the band of a transition reaches w states
    to either side.

    Attributes:
        initial: ``(z,)``, the expected number of sequences that begin with each state.
        matrices: Counts in the shapes of the factors of the transition: ``(z, z)``, of each pair of neighbouring
            states; or ``(z, r)``, of each state and the feature after it, and ``(r, z)``, of each feature and the
            state after it.
        band: ``(z, 2 w + 1)``, counts of transitions in the band; None without a band.
        emission: ``(z, v)``, counts of words in states; for vectors, the sums that their emission needs.
        log_prob: The summed log-probability of the possible sequences. Impossible sequences add nothing to any
            attribute but ``impossible``.
        impossible: The number of impossible sequences.
    """

    initial: Tensor
    matrices: tuple[Tensor, ...]
    band: Tensor | None
    emission: Tensor
    log_prob: Tensor
    impossible: int

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.initial + other.initial,
            tuple(mine + theirs for mine, theirs in zip(self.matrices, other.matrices, strict=True)),
            None if self.band is None or other.band is None else self.band + other.band,
            self.emission + other.emission,
            self.log_prob + other.log_prob,
            self.impossible + other.impossible,
        )


def expected_counts(
    words: Tensor,
    lengths: Tensor,
    initial: Tensor,
    emission: Tensor,
    matrices: tuple[Tensor, ...],
    band: Tensor | None,
    statistics: Callable[[Tensor], Tensor],
) -> Counts:
    """Return the expected counts given observations.

    They are derivatives of the log-evidence with respect to log-probabilities.

    Args:
        words: ``(batch, n)``, the row of the table of emissions for each observation.
        lengths: ``(batch,)``.
        initial: ``(z,)``, the probabilities of the first state.
        emission: ``(u, z)``, the table of emissions: u rows of log-probabilities in all states.
        matrices: The factors of the transition matrix, as probabilities; see `Transition.factors`.
        band: The band of the transition matrix, as probabilities; None without a band.
        statistics: A function from the expected uses ``(u, z)`` of each row in each state to the sums that the
            emission needs.
    """
    band_too = () if band is None else (band,)

    def derivatives(words: Tensor, lengths: Tensor, *leaves: Tensor) -> tuple[Tensor, ...]:
        table, first, *rest = leaves = tuple(leaf.detach().requires_grad_() for leaf in leaves)
        band_leaf = rest.pop() if band_too else None
        initial = first.expand(len(words), -1)
        evidence, _ = log_evidence(words, lengths, initial, table, tuple(rest), band_leaf)
        result = torch.autograd.grad(evidence.sum(), leaves, materialize_grads=True)
        return evidence.detach(), *result

    factors = (initial, *matrices, *band_too)
    evidence, in_table, *result = differentiated(derivatives, (words, lengths, emission, *factors))
    in_first, *in_rest = (value.detach() * grad for value, grad in zip(factors, result, strict=True))
    in_band = in_rest.pop() if band_too else None
    possible = evidence > -torch.inf
    return Counts(
        in_first,
        tuple(in_rest),
        in_band,
        statistics(in_table),
        evidence[possible].sum(),
        int((~possible).sum()),
    )
