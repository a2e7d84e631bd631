"""Inference in hidden Markov models: probabilities of observations, next and missing ones, and hidden states."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, distributions

from strukt.checks import arguments, guards
from strukt.checks.lengths import Lengths
from strukt.kernels.semiring import NEG_INF
from strukt.structures.hmm import filtering_smoothing, sampling, viterbi
from strukt.structures.hmm.forward_backward import following
from strukt.structures.hmm.logits import softmax
from strukt.structures.hmm.parameters import HMMParameters
from strukt.structures.hmm.reference import safe_log
from strukt.structures.hmm.results import HMMSample, Infilling
from strukt.structures.hmm.symbols import Symbols, words_of_states
from strukt.structures.linear_chain.distribution import LinearChain


class HMMInference(HMMParameters):
    """The inference of a hidden Markov model, given observations; see `HMM`."""

    # The probability of observations.

    def log_prob(self, x: Tensor, lengths: Lengths | None = None) -> Tensor:
        """Return the log-probability of sequences given their lengths; -inf if impossible. Differentiable.

        Args:
            x: ``(*, n)``, words, or other observations ``(*, n, *event)``.
            lengths: ``(*)``; all n if None.

        Returns:
            ``(*)``.

        Raises:
            ValueError: If shapes or types do not fit, or an observation is invalid.
        """
        factors = self.transition.factors()
        seen = self._observed(x, lengths, by_block=factors[1] is None)
        return self._evidence(seen, self._beginning(len(seen.rows)), factors)[0].reshape(seen.shape)

    def stream(
        self, x: Tensor, state: Tensor | None = None, lengths: Lengths | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the log-probability of the next observations of long sequences, and the state to continue from.

        Args:
            x: ``(*, n)``, the next words, or other observations.
            state: ``(*, z)``, the state that the previous call returned; None at the start of a sequence. Detach
                it to end the gradient there (truncated back-propagation through time).
            lengths: ``(*)``; all n if None.

        Returns:
            ``(*)``, the log-probability, and the distribution of the state of the next observation, ``(*, z)``; 0
            for impossible observations.
        """
        factors = self.transition.factors()
        seen = self._observed(x, lengths, by_block=factors[1] is None)
        initial = self._beginning(len(seen.rows)) if state is None else self._initial_states(state, seen.shape)
        evidence, last = self._evidence(seen, initial, factors)
        after = following(last, seen.lengths, initial, *factors)
        return evidence.reshape(seen.shape), after.reshape(*seen.shape, self.states)

    def predict_next(self, x: Tensor, lengths: Lengths | None = None) -> distributions.Distribution:
        """Return the distribution of the next observation, with batch shape ``(*)``; differentiable.

        For words it is a ``torch.distributions.Categorical``, for vectors a mixture over the states.

        Raises:
            InfeasibleError: If some sequence is impossible.

        Examples:
            >>> from strukt import HMM
            >>> hmm = HMM(torch.zeros(2), torch.eye(2), torch.eye(2))
            >>> hmm.predict_next(torch.tensor([0, 0, 0])).probs
            tensor([0.5704, 0.4296])
        """
        evidence, state = self.stream(x, lengths=lengths)
        guards.require_feasible(evidence.reshape(-1), evidence.detach().reshape(-1))
        return self.emission.mixture(state)

    def predict(self, x: Tensor, lengths: Lengths | None = None) -> Tensor:
        """Return the log-probability of each word given those before: ``(*, n, v)``; differentiable.

        -inf in the padding, and after impossible words. O(n z v) more than `filter`.

        Raises:
            NotImplementedError: If observations are not words: use `predict_next` for vectors.
        """
        table = self._symbols("predict", "use predict_next(x) for the next observation").table()
        seen = self._observed(x, lengths)
        _, ahead = filtering_smoothing.filtered(seen.rows, seen.lengths, *self._model(seen))
        return words_of_states(ahead, table).reshape(*x.shape, len(table))

    def infill(self, x: Tensor, missing: Tensor, lengths: Lengths | None = None) -> Infilling:
        """Fill in the missing words of sentences, given all other words, before and after.

        The best joint completion is NP-hard to find (Lyngsø and Pedersen 2002); the result has the best word for
        each position, and one joint sample. O(n z v) more than `smooth`.

        Args:
            x: ``(*, n)``; missing positions may hold anything.
            missing: ``(*, n)``, Boolean.
            lengths: ``(*)``; all n if None.

        Raises:
            InfeasibleError: If the observed words are impossible.
            NotImplementedError: If observations are not words.
        """
        table = self._symbols(
            "infill", "use smooth or sample_posterior for the states of complete observations"
        ).table()
        arguments.mask("missing", missing, x.shape)
        seen = self._observed(x, lengths, missing)
        model, flat = self._model(seen), seen.lengths
        words, gaps = x.long().reshape(seen.rows.shape), missing.reshape(seen.rows.shape)
        within = torch.arange(words.shape[1], device=words.device) < flat[:, None]
        log_probs = words_of_states(filtering_smoothing.smoothed(seen.rows, flat, *model), table)
        said = torch.arange(log_probs.shape[2], device=words.device) == words.unsqueeze(2)
        log_probs = torch.where((gaps & within).unsqueeze(2), log_probs, torch.where(said, 0.0, NEG_INF))
        log_probs = torch.where(within.unsqueeze(2), log_probs, NEG_INF)
        with torch.no_grad():
            states = sampling.sampled(seen.rows, flat, *model, 1)[0]
            guards.require_feasible(states, _feasible(states, flat))
            drawn = self.emission.drawn(states.clamp(min=0).flatten()).view_as(words)
        best = torch.where(gaps, log_probs.argmax(2), words)
        best, drawn = (torch.where(within, torch.where(gaps, some, words), -1) for some in (best, drawn))
        log_probs = log_probs.reshape(*x.shape, len(table))
        return Infilling(log_probs, best.reshape(x.shape), drawn.reshape(x.shape))

    def sample(self, sample_shape: Sequence[int] = (), length: int = 1) -> Tensor:
        """Draw observations ``sample_shape + (length, *event)``; O(z + r + v) time for a word at low rank."""
        return self.sample_with_states(sample_shape, length).x

    def sample_with_states(self, sample_shape: Sequence[int] = (), length: int = 1) -> HMMSample:
        """Draw observations as `sample` does, and return them with their hidden states.

        Returns:
            A named pair of the observations ``x``, ``sample_shape + (length, *event)``, and ``states``,
            ``sample_shape + (length,)``.
        """
        shape = arguments.sample_shape(sample_shape, "sample")
        with torch.no_grad():
            factors = self.transition.factors()
            count = shape.numel()
            states = torch.multinomial(softmax(self.initial, 0), max(count, 1), replacement=True)[:count]
            path = [states] if length else []
            while len(path) < length:
                path.append(sampling.next_states(path[-1], *factors))
            visited = torch.stack(path, 1) if path else states.new_empty(count, 0)
            drawn = self.emission.drawn(visited.flatten())
        return HMMSample(drawn.reshape(*shape, length, *drawn.shape[1:]), visited.reshape(*shape, length))

    # The hidden states.

    def filter(self, x: Tensor, lengths: Lengths | None = None) -> Tensor:
        """Return the probability of each state given the observations up to it: ``(*, n, z)``; differentiable.

        Zeros in the padding, and after impossible observations.
        """
        seen = self._observed(x, lengths)
        states, _ = filtering_smoothing.filtered(seen.rows, seen.lengths, *self._model(seen))
        return states.reshape(*seen.places, self.states)

    def smooth(self, x: Tensor, lengths: Lengths | None = None) -> Tensor:
        """Return the probability of each state given all observations: ``(*, n, z)``; differentiable.

        These are the marginals of `posterior`, in O(n z r) at low rank.
        """
        seen = self._observed(x, lengths)
        states = filtering_smoothing.smoothed(seen.rows, seen.lengths, *self._model(seen))
        return states.reshape(*seen.places, self.states)

    def posterior(self, x: Tensor, lengths: Lengths | None = None) -> LinearChain:
        """Return the distribution of states given observations; its log-partition is their log-probability.

        All operators of a `LinearChain` follow, such as the best state sequences, their entropy, and samples. They
        compute the transition matrix ``(z, z)`` and take O(n z^2); `smooth`, `viterbi` and `sample_posterior` need
        no such matrix.
        """
        seen = self._observed(x, lengths)
        unary = seen.table[seen.rows]
        beginning = unary + safe_log(softmax(self.initial, 0))
        first = torch.arange(unary.shape[1], device=unary.device) == 0
        unary = torch.where(first.unsqueeze(1), beginning, unary).reshape(*seen.places, self.states)
        matrix = safe_log(self.transition.dense())
        return LinearChain(unary, matrix, seen.lengths.reshape(seen.shape), validate_args=False)

    def viterbi(self, x: Tensor, lengths: Lengths | None = None) -> tuple[Tensor, Tensor]:
        """Return the most probable states ``(*, n)`` (Viterbi), and their log-probability with the observations.

        O(n z^2) time, as a maximum cannot use the factors of a low-rank matrix, but O(n z) memory. -1 in the
        padding.

        Raises:
            InfeasibleError: If some sequence is impossible.
        """
        with torch.no_grad():
            seen = self._observed(x, lengths)
            path, score = viterbi.best_path(seen.rows, seen.lengths, *self._model(seen))
        guards.require_feasible(path, score)
        return path.reshape(seen.places), score.to(self.initial.dtype).reshape(seen.shape)

    def sample_posterior(
        self, x: Tensor, lengths: Lengths | None = None, sample_shape: Sequence[int] = ()
    ) -> Tensor:
        """Draw state sequences given the observations: ``sample_shape + (*, n)``, -1 in the padding.

        Raises:
            InfeasibleError: If some sequence is impossible.
        """
        samples = arguments.sample_shape(sample_shape)
        with torch.no_grad():
            seen = self._observed(x, lengths)
            states = sampling.sampled(seen.rows, seen.lengths, *self._model(seen), samples.numel())
        if samples.numel():
            guards.require_feasible(states[0], _feasible(states[0], seen.lengths))
        return states.reshape(samples + seen.places)

    def _symbols(self, member: str, remedy: str) -> Symbols:
        """Return the emission, checked to be one of words."""
        if isinstance(self.emission, Symbols):
            return self.emission
        raise NotImplementedError(
            f"{member} returns words, but {self.emission!r} does not emit words; {remedy}"
        )


def _feasible(states: Tensor, lengths: Tensor) -> Tensor:
    """Return 0 for sentences ``(batch,)`` that have states ``(batch, n)``, -inf for all others."""
    result = (states >= 0).any(1) | (lengths == 0)
    return torch.where(result, 0.0, NEG_INF)
