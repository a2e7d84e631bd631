"""Samples of the states of hidden Markov models: whole sequences given all words, and next states."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.errors import InfeasibleError
from strukt.structures.hmm.filtering_smoothing import filtered
from strukt.structures.hmm.reference import Chains
from strukt.structures.hmm.steps import Steps, columns, steps

Tensors = tuple[Tensor, ...]


def sampled(chains: Chains, count: int) -> Tensor:
    """Draw state sequences ``(count, batch, n)`` given all words: forward filtering, backward sampling (FFBS).

    They are -1 in the padding and for impossible sentences. With two factors and no band, a backward step first
    draws the latent feature between the two states.
    """
    lengths, band = chains.lengths, chains.band
    states, _ = filtered(chains)
    batch, n, _ = states.shape
    drawn = lengths.new_full((count, batch, n), -1)
    possible = (lengths > 0) & (states[:, :1].sum(-1) > 0).all(1)
    ends = (
        states[torch.arange(batch, device=lengths.device), (lengths - 1).clamp(min=0)] if n else states.sum(1)
    )
    possible = possible & (ends.sum(-1) > 0)
    moving = steps(chains.matrices, band)
    following = drawn.new_zeros(count, batch)
    for time in reversed(range(n)):
        here = states[:, time].expand(count, -1, -1).flatten(0, 1)
        going_on = (time + 1 < lengths).expand(count, -1).flatten()
        weights = torch.where(
            going_on.unsqueeze(1), _before_next(here, following.flatten(), moving, band), here
        )
        following = _draw(weights).view(count, batch)
        drawn[:, :, time] = torch.where((time < lengths) & possible, following, -1)
    return drawn


def first_states(initial: Tensor, count: int) -> Tensor:
    """Draw ``(count,)`` first states from their probabilities ``(z,)``.

    Raises:
        InfeasibleError: If all probabilities are 0.
    """
    if bool((initial == 0).all()):
        raise InfeasibleError("initial is -inf for all states, so there is no sample; allow a first state")
    return torch.multinomial(initial, count, replacement=True)


def require_successors(states: Tensor, matrices: Tensors, band: Tensor | None) -> None:
    """Raise InfeasibleError if a state of sequences ``(b, n)``, other than the last of each, has no successor."""
    if states.shape[1] < 2:
        return
    leaving = [matrices[0].sum(1)] if matrices else []
    ends = torch.stack([*leaving, *([] if band is None else [band.sum(1)])]).sum(0) == 0
    stuck = ends[states[:, :-1]]
    if bool(stuck.any()):
        raise InfeasibleError(
            f"a sample reached state {states[:, :-1][stuck][0].item()}, which has no successor: all transitions "
            "from it are -inf; allow one, or draw shorter samples"
        )


def next_states(states: Tensor, matrices: Tensors, band: Tensor | None) -> Tensor:
    """Draw a next state for each state ``(b,)``; with two factors, draw the latent feature first.

    For a state without successor, it is any state.
    """
    if len(matrices) == 1 and band is None:
        return _draw(matrices[0][states])
    leaving = [matrices[0][states]] if matrices else []
    chosen = _draw(torch.cat([*leaving, *([] if band is None else [band[states]])], 1))
    rank = matrices[0].shape[1] if matrices else 0
    nearby = states + chosen - rank - (0 if band is None else band.shape[1] // 2)
    if not matrices:
        return nearby if band is None else nearby.clamp(0, len(band) - 1)
    return torch.where(chosen < rank, _draw(matrices[1][chosen.clamp(max=rank - 1)]), nearby)


def _before_next(state: Tensor, following: Tensor, moving: Steps, band: Tensor | None) -> Tensor:
    """Return the weights of states ``(b, z)`` given the next state, ``following (b,)``.

    ``state (b, z)`` are the filtered distributions. With two factors and no band, the weights are also conditional
    on the latent feature between the states, which is drawn here.
    """
    if moving.first is None or moving.last is None or band is not None:
        return state * columns(moving, band, following)
    feature = _draw(moving.message(state) * moving.last[:, following].mT)
    return state * moving.first[:, feature].mT


def _draw(weights: Tensor) -> Tensor:
    """Draw an index for each row of weights ``(b, k)``; 0 if all weights are 0."""
    total = weights.sum(1, keepdim=True)
    first = torch.zeros_like(weights)
    first[:, :1] = 1.0
    return torch.multinomial(torch.where(total > 0, weights, first), 1).squeeze(1)
