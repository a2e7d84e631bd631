"""What a hidden Markov model is given: its parameters, and sentences."""

from __future__ import annotations

import torch
from torch import Tensor
from typing_extensions import Self

from strukt.checks import arguments, guards
from strukt.checks.lengths import Lengths
from strukt.structures.hmm.emissions import Categorical, Emission
from strukt.structures.hmm.evidence import log_evidence
from strukt.structures.hmm.transitions import Dense, Transition, softmax
from strukt.structures.peer_names import HMMPeerNames

Model = tuple[Tensor, Tensor, tuple[Tensor, ...], Tensor | None]
"""Initial distributions ``(batch, z)``, emissions ``(v, z)`` in logs, matrices and band, as kernels take them."""


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
            raise ValueError(_takes(type(self).__name__, initial, transition))
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
        kinds = ("transition",) * len(self.transition.parameters) + ("emission",) * len(
            self.emission.parameters
        )
        names = ("initial", *kinds)
        self.initial = arguments.common_dtype(scores, names)[0]
        for part in (self.transition, self.emission):
            if part.parameters[0].dtype != self.initial.dtype:
                raise ValueError(
                    f"{part!r} is of type {part.parameters[0].dtype}, and other scores of type "
                    f"{self.initial.dtype}; expected one type for all"
                )
        self.checkpoint, self.storage = checkpoint, storage
        by_default = torch.distributions.Distribution._validate_args
        self._validate_args = by_default if validate_args is None else validate_args
        if self._validate_args:
            whole = torch.full((1,), 1, device=initial.device)
            for score, name in zip(scores, names, strict=True):
                extents = [guards.UNBOUNDED] * score.dim()
                guards.require_scores(score.detach().unsqueeze(0), whole, extents, name)

    @property
    def states(self) -> int:
        """Z."""
        return len(self.initial)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(states: {self.states}, {self.transition!r}, {self.emission!r})"

    def _rebuilt(self, initial: Tensor, transition: Transition, emission: Emission) -> Self:
        made = type(self)(initial, transition, emission, self.checkpoint, self.storage, validate_args=False)
        made._validate_args = self._validate_args  # of words; these scores are fine
        return made

    def _sentences(
        self, x: Tensor, lengths: Lengths | None, missing: Tensor | None = None
    ) -> tuple[Tensor, Tensor, torch.Size]:
        """Words ``(batch, n)``, missing ones as word v, lengths ``(batch,)``, and the batch axes."""
        arguments.integers("x", x, "(*, n)", self.initial.device)
        if not x.dim():
            raise ValueError("x has shape (); expected (*, n), a word for each place")
        shape = x.shape[:-1]
        flat = arguments.lengths(lengths, shape, x.shape[-1], x.device).reshape(shape.numel())
        words = x.long().reshape(shape.numel(), x.shape[-1])
        v = self.emission.words
        if missing is not None:
            words = words.masked_fill(missing.reshape(words.shape), v)
        if self._validate_args:
            outside = torch.arange(x.shape[-1], device=x.device) >= flat[:, None]
            fine = outside | ((words >= 0) & (words < v))
            if missing is not None:
                fine = fine | missing.reshape(words.shape)
            expected = f"words from 0 to {v - 1}, as there are {v} in the vocabulary"
            guards.require_values(words.reshape(x.shape), fine.reshape(x.shape), "x", expected, x.dim() - 1)
        return words, flat, shape

    def _given(self, state: Tensor, shape: torch.Size) -> Tensor:
        arguments.scores("state", state, "(*, z)", 1)
        if state.shape != (*shape, self.states):
            raise ValueError(f"state has shape {tuple(state.shape)}; expected {(*shape, self.states)}")
        return state.to(self.initial.dtype).reshape(shape.numel(), self.states)

    def _beginning(self, batch: int) -> Tensor:
        return softmax(self.initial, 0).expand(batch, -1)

    def _model(self, batch: int, table: Tensor | None = None) -> Model:
        """What the kernels are given besides words and lengths."""
        table = self._table() if table is None else table
        return self._beginning(batch), table, *self.transition.factors()

    def _table(self, missing: bool = False) -> Tensor:
        """The log-probability of each word in each state ``(v, z)``; of a missing word it is 0, as of any word."""
        table = self.emission.table()
        return torch.cat([table, torch.zeros_like(table[:1])]) if missing else table

    def _used(self, words: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """The words that occur ``(u,)``, and for each word which of them it is."""
        within = torch.arange(words.shape[1], device=words.device) < lengths[:, None]
        used, rows = torch.unique(words[within], return_inverse=True)
        return used, torch.zeros_like(words).masked_scatter(within, rows)

    def _evidence(
        self,
        words: Tensor,
        lengths: Tensor,
        initial: Tensor,
        factors: tuple[tuple[Tensor, ...], Tensor | None],
    ) -> tuple[Tensor, Tensor]:
        """The log-probability of sentences ``(batch,)`` from given beginnings, and their last states."""
        used, rows = self._used(words, lengths)
        own = self.emission.of_own_states(used) if factors[1] is None else None
        table, blocks = (self.emission.of_words(used), None) if own is None else own
        model = (initial, table, *factors)
        evidence, last = log_evidence(
            rows, lengths, *model, checkpoint=self.checkpoint, storage=self.storage, blocks=blocks
        )
        return evidence.to(initial.dtype), last

    def _drawn(self, states: Tensor) -> Tensor:
        """A word ``(m,)`` from each of some states ``(m,)``."""
        chances = self.emission.of_states(states).exp()
        return torch.multinomial(chances, 1).squeeze(1) if len(states) else states


def _takes(kind: str, initial: object, transition: object) -> str:
    """Parameters that are missing, for a message."""
    lacks = "transition and emission" if transition is None else "emission"
    sizes = (
        "; strukt.nn.NeuralHMM(states, words) makes a model of given sizes" if isinstance(initial, int) else ""
    )
    return (
        f"{kind} got no {lacks}; expected {kind}(initial, transition, emission): logits (z,) of the first state, "
        f"(z, z) from state to state or an operator such as LowRank, and (z, v) of the words in each state{sizes}"
    )
