"""The parameters and observations of hidden Markov models, checked and prepared for the kernels."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from typing_extensions import Self

from strukt.checks import arguments, guards
from strukt.checks.lengths import Lengths
from strukt.checks.validation import validates
from strukt.structures.hmm.blocked_forward import Blocks
from strukt.structures.hmm.emissions.base import Emission, require_logits
from strukt.structures.hmm.emissions.categorical import Categorical
from strukt.structures.hmm.forward_backward import log_evidence
from strukt.structures.hmm.logits import softmax
from strukt.structures.hmm.reference import Chains
from strukt.structures.hmm.transitions import Dense, Transition
from strukt.structures.peer_names import HMMPeerNames


class Observed(NamedTuple):
    """Observations in the form that the recursions read.

    Attributes:
        rows: ``(batch, n)``, the row of the table for each observation; the last row where it is missing, and 0 in
            the padding.
        lengths: ``(batch,)``.
        places: The shape ``(*, n)`` of the observations, without their event axes.
        values: ``(t, *event)``, the observations that are neither padding nor missing, sequences concatenated.
        table: ``(u, z)``, log-probabilities; ``(u, k)`` with ``blocks``. If observations may be missing, a last
            row of zeros is for these. An empty table gets such a row, too.
        blocks: The block of states of each row, or None.
    """

    rows: Tensor
    lengths: Tensor
    places: torch.Size
    values: Tensor
    table: Tensor
    blocks: Blocks | None

    @property
    def shape(self) -> torch.Size:
        """The batch axes."""
        return self.places[:-1]


class HMMParameters(HMMPeerNames):
    """The parameters of a hidden Markov model, checked; see `strukt.HMM` for them."""

    def __init__(
        self,
        initial: Tensor,
        transition: Tensor | Transition | None = None,
        emission: Tensor | Emission | None = None,
        checkpoint: bool = False,
        storage: torch.dtype | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if transition is None or emission is None:
            raise ValueError(_missing_parameters(type(self).__name__, initial, transition))
        arguments.scores("initial", initial, "(z,)", 1)
        self.transition = transition if isinstance(transition, Transition) else Dense(transition)
        self.emission = emission if isinstance(emission, Emission) else Categorical(emission)
        z = self.transition.states
        if initial.shape != (z,) or self.emission.states != z:
            raise ValueError(
                f"the shapes do not fit together: initial {tuple(initial.shape)}, {self.transition!r}, "
                f"{self.emission!r}; expected (z,), a transition and an emission of z states"
            )
        scores = (initial, *self.transition.parameters, *self.emission.parameters)
        kinds = ("transition",) * len(self.transition.parameters)
        names = ("initial", *kinds, *("emission",) * len(self.emission.parameters))
        self.initial = arguments.common_dtype(scores, names)[0]
        for part in (self.transition, self.emission):
            if part.parameters[0].dtype != self.initial.dtype:
                raise ValueError(
                    f"{part!r} has dtype {part.parameters[0].dtype}, and other scores have dtype "
                    f"{self.initial.dtype}; expected one dtype for all"
                )
        if storage is not None and not (isinstance(storage, torch.dtype) and storage.is_floating_point):
            raise ValueError(f"storage is {storage!r}; expected a type such as torch.bfloat16, or None")
        self.checkpoint, self.storage = checkpoint, storage
        self._validate_args = validates(validate_args)
        if self._validate_args:
            for score, name in zip(scores[: len(kinds) + 1], names, strict=False):
                require_logits(name, score)
            self.emission.require_valid()

    @property
    def states(self) -> int:
        """The number of states, z."""
        return len(self.initial)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(states: {self.states}, {self.transition!r}, {self.emission!r})"

    def _rebuilt(self, initial: Tensor, transition: Transition, emission: Emission) -> Self:
        """Return a model with other parameters, which are not checked, and the same settings."""
        made = type(self)(initial, transition, emission, self.checkpoint, self.storage, validate_args=False)
        made._validate_args = self._validate_args  # for observations: these scores need no check
        return made

    def _observed(
        self, x: Tensor, lengths: Lengths | None, missing: Tensor | None = None, by_block: bool = False
    ) -> Observed:
        """Check observations ``(*, n, *event)`` and look up their log-probabilities in all states.

        With ``by_block``, only in the states of each word's block, if the emission has blocks.
        """
        self.emission.require_observations(x)
        axes = x.dim() - len(self.emission.event_shape)
        if not axes:
            raise ValueError("x has shape (); expected (*, n), a word for each place")
        places = x.shape[:axes]
        shape, n = places[:-1], places[-1]
        _refuse_concatenation(x, lengths, places)
        flat = arguments.lengths(lengths, shape, n, x.device).reshape(shape.numel())
        known = torch.arange(n, device=x.device) < flat[:, None]
        if missing is not None:
            known = known & ~missing.reshape(known.shape)
        values = x.reshape(*known.shape, *x.shape[axes:])
        if self._validate_args:
            fine, expected = self.emission.valid(values)
            unknown = ~known.reshape(*known.shape, *(1 for _ in x.shape[axes:]))
            guards.require_values(x, (fine | unknown).reshape(x.shape), "x", expected, axes - 1)
        score = self.emission.scored_by_block if by_block else self.emission.scored
        values = values[known]
        rows, table, blocks = score(values)
        rows = torch.zeros(known.shape, dtype=torch.int64, device=x.device).masked_scatter(known, rows)
        if missing is not None:
            rows = torch.where(missing.reshape(rows.shape), len(table), rows)
        if missing is not None or not len(table):  # padding needs a row to look up, too
            table = torch.cat([table, table.new_zeros(1, table.shape[1])])
        return Observed(rows, flat, places, values, table, blocks)

    def _initial_states(self, state: Tensor, shape: torch.Size) -> Tensor:
        """Check the distributions of first states ``shape + (z,)``, and return them as ``(batch, z)``."""
        arguments.scores("state", state, "(*, z)", 1)
        if state.shape != (*shape, self.states):
            raise ValueError(f"state has shape {tuple(state.shape)}; expected {(*shape, self.states)}")
        if self._validate_args:
            guards.require_values(state, state >= 0, "state", "probabilities, 0 or more", len(shape))
        return state.to(self.initial.dtype).reshape(shape.numel(), self.states)

    def _beginning(self, batch: int) -> Tensor:
        """Return the distribution of the first state for each of ``batch`` sequences, ``(batch, z)``."""
        return softmax(self.initial, 0).expand(batch, -1)

    def _chains(self, seen: Observed) -> Chains:
        """Return observations and the model in the form that filters, smoothers and samplers read."""
        initial = self._beginning(len(seen.rows))
        return Chains(seen.rows, seen.lengths, initial, seen.table, *self.transition.factors())

    def _evidence(
        self, seen: Observed, initial: Tensor, factors: tuple[tuple[Tensor, ...], Tensor | None]
    ) -> tuple[Tensor, Tensor]:
        """Return the log-probability of sequences ``(batch,)``, and the distributions of their last states.

        ``initial (batch, z)`` are the distributions of their first states.
        """
        evidence, last = log_evidence(
            seen.rows,
            seen.lengths,
            initial,
            seen.table,
            *factors,
            checkpoint=self.checkpoint,
            storage=self.storage,
            blocks=seen.blocks,
        )
        return evidence.to(initial.dtype), last


def _refuse_concatenation(x: Tensor, lengths: Any, places: torch.Size) -> None:
    """Raise ValueError if x looks like concatenated sequences with a list of lengths, as hmmlearn takes them."""
    several = lengths.tolist() if isinstance(lengths, Tensor) else lengths
    flat = isinstance(several, (list, tuple)) and all(isinstance(size, int) for size in several)
    is_column = places[1:] == (1,) and flat and len(several) != places[0]  # words in the form (n, 1)
    if flat and (len(places) == 1 or is_column) and sum(several) == places[0]:
        raise ValueError(
            f"x has shape {tuple(x.shape)} and lengths add up to {places[0]}: these look like concatenated "
            f"sequences; x, lengths = strukt.pad_concatenated({'x[:, 0]' if is_column else 'x'}, lengths) makes a "
            "batch of them"
        )


def _missing_parameters(kind: str, initial: object, transition: object) -> str:
    """Return the message of an error about missing parameters."""
    lacks = "transition and emission" if transition is None else "emission"
    sizes = (
        "; strukt.nn.NeuralHMM(states, words) makes a model of given sizes" if isinstance(initial, int) else ""
    )
    return (
        f"{kind} got no {lacks}; expected {kind}(initial, transition, emission): logits (z,) of the first state, "
        f"(z, z) from state to state or a Transition such as LowRank, and (z, v) of the words in each state{sizes}"
    )
