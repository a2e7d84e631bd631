"""What a hidden Markov model is given: its parameters, and sentences."""

from __future__ import annotations

import torch
from torch import Tensor
from typing_extensions import Self

from strukt.distributions.transitions import Dense, Transition, log_total, softmax
from strukt.kernels import arguments, guards
from strukt.kernels.semiring import NEG_INF

Model = tuple[Tensor, Tensor, tuple[Tensor, ...], Tensor | None]
"""Initial distributions ``(batch, z)``, emissions ``(v, z)`` in logs, matrices and band, as kernels take them."""


class HMMParameters:
    """The parameters of a hidden Markov model, checked; see `strukt.HMM` for them."""

    def __init__(
        self,
        initial: Tensor,
        transition: Tensor | Transition,
        emission: Tensor,
        checkpoint: bool = False,
        storage: torch.dtype | None = None,
        validate_args: bool | None = None,
    ) -> None:
        arguments.scores("initial", initial, "(z,)", 1)
        arguments.scores("emission", emission, "(z, v)", 2)
        self.transition = transition if isinstance(transition, Transition) else Dense(transition)
        z = self.transition.states
        if initial.shape != (z,) or emission.dim() != 2 or len(emission) != z or not emission.numel():
            raise ValueError(
                f"the shapes do not fit together: initial {tuple(initial.shape)}, {self.transition!r}, emission "
                f"{tuple(emission.shape)}; expected (z,), a transition of z states, and (z, v) with z, v >= 1"
            )
        scores = (initial, emission, *self.transition.parameters)
        names = ("initial", "emission", *("transition" for _ in self.transition.parameters))
        common = arguments.common_dtype(scores, names)
        self.initial, self.emission = common[:2]
        if self.transition.dtype != common[0].dtype:
            raise ValueError(
                f"the transition is of type {self.transition.dtype} and other scores of type {common[0].dtype}; "
                "expected one type for all"
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
        states, words = self.emission.shape
        return f"{type(self).__name__}(states: {states}, words: {words}, transition: {self.transition!r})"

    def _rebuilt(self, initial: Tensor, transition: Transition, emission: Tensor) -> Self:
        return type(self)(initial, transition, emission, self.checkpoint, self.storage, validate_args=False)

    def _sentences(
        self, x: Tensor, lengths: Tensor | None, missing: Tensor | None = None
    ) -> tuple[Tensor, Tensor, torch.Size]:
        """Words ``(batch, n)``, missing ones as word v, lengths ``(batch,)``, and the batch axes."""
        arguments.integers("x", x, "(*, n)", self.initial.device)
        if not x.dim():
            raise ValueError("x has shape (); expected (*, n), a word for each place")
        shape = x.shape[:-1]
        flat = arguments.lengths(lengths, shape, x.shape[-1], x.device).reshape(shape.numel())
        words = x.long().reshape(shape.numel(), x.shape[-1])
        v = self.emission.shape[1]
        if missing is not None:
            words = words.masked_fill(missing.reshape(words.shape), v)
        if self._validate_args:
            outside = torch.arange(x.shape[-1], device=x.device) >= flat[:, None]
            fine = outside | ((words >= 0) & (words < v + (missing is not None)))
            guards.require_values(words, fine, "x", f"words from 0 to {v - 1}")
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

    def _normaliser(self) -> Tensor:
        total = log_total(self.emission, 1)
        return torch.where(total == NEG_INF, 0.0, total)

    def _table(self, missing: bool = False) -> Tensor:
        """The log-probability of each word in each state ``(v, z)``; of a missing word it is 0, as of any word."""
        table = (self.emission - self._normaliser().unsqueeze(1)).mT.contiguous()
        return torch.cat([table, torch.zeros_like(table[:1])]) if missing else table

    def _rows(self, words: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """The rows of `_table` for the words that occur, and for each word its row."""
        within = torch.arange(words.shape[1], device=words.device) < lengths[:, None]
        used, rows = torch.unique(words[within], return_inverse=True)
        table = self.emission.index_select(1, used).mT - self._normaliser()
        return table.contiguous(), torch.zeros_like(words).masked_scatter(within, rows)
