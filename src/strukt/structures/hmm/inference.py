"""Inference in hidden Markov models: probabilities of observations, predictions, infilling, and hidden states."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral

import torch
from torch import Tensor, distributions

from strukt.checks import arguments, guards
from strukt.checks.lengths import Lengths
from strukt.kernels.full_precision import full_precision
from strukt.kernels.semiring import NEG_INF
from strukt.structures.hmm import filtering_smoothing, sampling, viterbi
from strukt.structures.hmm.emissions.symbols import Symbols, words_of_states
from strukt.structures.hmm.forward_backward import following
from strukt.structures.hmm.logits import softmax
from strukt.structures.hmm.parameters import HMMParameters
from strukt.structures.hmm.reference import safe_log
from strukt.structures.hmm.results import HMMSample, Infilling
from strukt.structures.linear_chain.distribution import LinearChain


class HMMInference(HMMParameters):
    """The methods of a hidden Markov model that infer probabilities from observations; see `HMM`."""

    # The probability of observations.

    @full_precision
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

    @full_precision
    def stream(
        self, x: Tensor, state: Tensor | None = None, lengths: Lengths | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the log-probability of the next stretch of long sequences, and the state to continue from.

        Args:
            x: ``(*, n)``, the next words, or other observations.
            state: ``(*, z)``, the state that the previous call returned; None at the start of a sequence. Detach
                it to end the gradient there (truncated back-propagation through time).
            lengths: ``(*)``; all n if None.

        Returns:
            The log-probability of these observations given those before, ``(*)``, and the distribution of the
            state of the next observation, ``(*, z)``. After impossible observations these are -inf and zeros.

        Raises:
            ValueError: If shapes or types do not fit, an observation is invalid, or ``state`` holds a negative
                number or NaN.
        """
        factors = self.transition.factors()
        seen = self._observed(x, lengths, by_block=factors[1] is None)
        initial = self._beginning(len(seen.rows)) if state is None else self._initial_states(state, seen.shape)
        evidence, last = self._evidence(seen, initial, factors)
        after = following(last, seen.lengths, initial, *factors)
        return evidence.reshape(seen.shape), after.reshape(*seen.shape, self.states)

    @full_precision
    def predict_next(self, x: Tensor, lengths: Lengths | None = None) -> distributions.Distribution:
        """Return the distribution of the next observation, with batch shape ``(*)``; differentiable.

        For words it is a ``torch.distributions.Categorical``, for vectors and counts a mixture over the states. It
        is conditional on there being another observation, if some states have no successor or emit no word.

        Raises:
            InfeasibleError: If some sequence is impossible, or cannot have another observation.
            ValueError: As for `log_prob`, which describes x and lengths.

        Examples:
            >>> from strukt import HMM
            >>> hmm = HMM(torch.zeros(2), torch.eye(2), torch.eye(2))
            >>> hmm.predict_next(torch.tensor([0, 0, 0])).probs
            tensor([0.5704, 0.4296])
        """
        evidence, state = self.stream(x, lengths=lengths)
        emitting = torch.where(self.emission.emits(), state, 0.0)
        going_on = evidence.detach() + emitting.detach().sum(-1).log()
        guards.require_feasible(evidence.reshape(-1), going_on.reshape(-1))
        return self.emission.mixture(state)

    @full_precision
    def predict(self, x: Tensor, lengths: Lengths | None = None) -> Tensor:
        """Return the log-probability of every word at each position, given the words before: ``(*, n, v)``.

        Differentiable. -inf in the padding, and after impossible words. Takes O(n z v) more time than `filter`.

        Raises:
            NotImplementedError: If observations are not words: use `predict_next` for vectors.
            ValueError: As for `log_prob`, which describes x and lengths.
        """
        table = self._symbols("predict", "use predict_next(x) for the next observation").table()
        seen = self._observed(x, lengths)
        _, ahead = filtering_smoothing.filtered(self._chains(seen))
        return words_of_states(ahead, table).reshape(*x.shape, len(table))

    @full_precision
    def infill(self, x: Tensor, missing: Tensor, lengths: Lengths | None = None) -> Infilling:
        """Fill in the missing words of sentences, given all other words, before and after.

        The best joint completion is NP-hard to find (Lyngsø and Pedersen 2002). The result has the probabilities
        of words and the best word at each position by itself, and one joint sample. Takes O(n z v) more time than
        `smooth`.

        Args:
            x: ``(*, n)``; missing positions may hold any number.
            missing: ``(*, n)``, Boolean, True for missing words.
            lengths: ``(*)``; all n if None.

        Returns:
            An `Infilling`: a named tuple of ``log_probs (*, n, v)``, ``best (*, n)`` and ``sample (*, n)``.

        Raises:
            InfeasibleError: If the observed words are impossible.
            NotImplementedError: If observations are not words.
            ValueError: If shapes or types do not fit, or an observed word is invalid.
        """
        table = self._symbols(
            "infill", "use smooth or sample_posterior for the states of complete observations"
        ).table()
        arguments.mask("missing", missing, x.shape)
        seen = self._observed(x, lengths, missing)
        unread = torch.where(self.emission.emits(), 0.0, NEG_INF)  # a missing word is some word
        seen = seen._replace(table=torch.cat([seen.table[:-1], unread.to(seen.table).unsqueeze(0)]))
        chains = self._chains(seen)
        words, gaps = x.long().reshape(seen.rows.shape), missing.reshape(seen.rows.shape)
        within = torch.arange(words.shape[1], device=words.device) < seen.lengths[:, None]
        log_probs = words_of_states(filtering_smoothing.smoothed(chains), table)
        said = torch.arange(log_probs.shape[2], device=words.device) == words.unsqueeze(2)
        log_probs = torch.where((gaps & within).unsqueeze(2), log_probs, torch.where(said, 0.0, NEG_INF))
        log_probs = torch.where(within.unsqueeze(2), log_probs, NEG_INF)
        with torch.no_grad():
            states = sampling.sampled(chains, 1)[0]
            guards.require_feasible(states, _feasible(states, seen.lengths))
            absent = gaps & within
            drawn = words.masked_scatter(absent, self.emission.drawn(states[absent]))
        best = torch.where(gaps, log_probs.argmax(2), words)
        best, drawn = (torch.where(within, some, -1) for some in (best, drawn))
        log_probs = log_probs.reshape(*x.shape, len(table))
        return Infilling(log_probs, best.reshape(x.shape), drawn.reshape(x.shape))

    def sample(self, sample_shape: Sequence[int] = (), length: int = 1) -> Tensor:
        """Draw observations ``sample_shape + (length, *event)``; O(z + r + v) time per word at low rank.

        Raises:
            InfeasibleError: If no first state is possible, or a sample reaches a state that emits no word or,
                before its end, one without successor.
            ValueError: If ``length`` is not a whole number of 0 or more, or ``sample_shape`` is not a sequence of
                sizes.
        """
        return self.sample_with_states(sample_shape, length).x

    @full_precision
    def sample_with_states(self, sample_shape: Sequence[int] = (), length: int = 1) -> HMMSample:
        """Draw observations as `sample` does, and return them with their hidden states.

        Returns:
            A named pair of the observations ``x``, ``sample_shape + (length, *event)``, and ``states``,
            ``sample_shape + (length,)``.

        Raises:
            InfeasibleError: If no first state is possible, or a sample reaches a state that emits no word or,
                before its end, one without successor.
            ValueError: If ``length`` is not a whole number of 0 or more, or ``sample_shape`` is not a sequence of
                sizes.
        """
        shape = arguments.sample_shape(sample_shape, "sample")
        if not isinstance(length, Integral) or length < 0:
            raise ValueError(f"length is {length!r}; expected a whole number of 0 or more")
        with torch.no_grad():
            factors = self.transition.factors()
            count = shape.numel()
            path = [sampling.first_states(softmax(self.initial, 0), count)] if length and count else []
            while 0 < len(path) < length:
                path.append(sampling.next_states(path[-1], *factors))
            empty = torch.empty(count, length, dtype=torch.int64, device=self.initial.device)
            visited = torch.stack(path, 1) if path else empty
            sampling.require_successors(visited, *factors)
            drawn = self.emission.drawn(visited.flatten())
        return HMMSample(drawn.reshape(*shape, length, *drawn.shape[1:]), visited.reshape(*shape, length))

    # The hidden states.

    @full_precision
    def filter(self, x: Tensor, lengths: Lengths | None = None) -> Tensor:
        """Return the probability of each state given the observations up to its own: ``(*, n, z)``.

        Differentiable. Zeros in the padding, and after impossible observations.

        Raises:
            ValueError: As for `log_prob`, which describes x and lengths.
        """
        seen = self._observed(x, lengths)
        states, _ = filtering_smoothing.filtered(self._chains(seen))
        return states.reshape(*seen.places, self.states)

    @full_precision
    def smooth(self, x: Tensor, lengths: Lengths | None = None) -> Tensor:
        """Return the probability of each state given all observations: ``(*, n, z)``; differentiable.

        These are the marginals of `posterior`, but in O(n z r) time at low rank. Zeros in the padding, and for
        impossible sequences.

        Raises:
            ValueError: As for `log_prob`, which describes x and lengths.
        """
        seen = self._observed(x, lengths)
        states = filtering_smoothing.smoothed(self._chains(seen))
        return states.reshape(*seen.places, self.states)

    @full_precision
    def posterior(self, x: Tensor, lengths: Lengths | None = None) -> LinearChain:
        """Return the distribution of states given observations; its log-partition is their log-probability.

        It has all operators of a `LinearChain`, such as the best state sequences, the entropy, and samples. They
        need the dense transition matrix ``(z, z)`` and take O(n z^2) time; `smooth`, `viterbi` and
        `sample_posterior` do not store it.

        Raises:
            ValueError: As for `log_prob`, which describes x and lengths.
        """
        seen = self._observed(x, lengths)
        unary = seen.table[seen.rows]
        beginning = unary + safe_log(softmax(self.initial, 0))
        first = torch.arange(unary.shape[1], device=unary.device) == 0
        unary = torch.where(first.unsqueeze(1), beginning, unary).reshape(*seen.places, self.states)
        matrix = safe_log(self.transition.dense())
        return LinearChain(unary, matrix, seen.lengths.reshape(seen.shape), validate_args=False)

    @full_precision
    def viterbi(self, x: Tensor, lengths: Lengths | None = None) -> tuple[Tensor, Tensor]:
        """Return the most probable states ``(*, n)`` (Viterbi), and their joint log-probability ``(*)`` with x.

        States are -1 in the padding. Takes O(n z^2) time, since a maximum cannot use the factors of a low-rank
        matrix. Takes O(n z) memory and, up to 8192 states, that of the matrix; with more states, each step
        multiplies the factors again, in O(z^2 r) for the whole batch.

        Raises:
            InfeasibleError: If some sequence is impossible.
            ValueError: As for `log_prob`, which describes x and lengths.
        """
        with torch.no_grad():
            seen = self._observed(x, lengths)
            path, score = viterbi.best_path(self._chains(seen))
        guards.require_feasible(path, score)
        return path.reshape(seen.places), score.to(self.initial.dtype).reshape(seen.shape)

    @full_precision
    def sample_posterior(
        self, x: Tensor, lengths: Lengths | None = None, sample_shape: Sequence[int] = ()
    ) -> Tensor:
        """Draw state sequences given the observations: ``sample_shape + (*, n)``, -1 in the padding.

        Raises:
            InfeasibleError: If some sequence is impossible.
            ValueError: As for `log_prob`, which describes x and lengths; or if ``sample_shape`` is not a sequence
                of sizes.
        """
        samples = arguments.sample_shape(sample_shape)
        with torch.no_grad():
            seen = self._observed(x, lengths)
            states = sampling.sampled(self._chains(seen), samples.numel())
        if samples.numel():
            guards.require_feasible(states[0], _feasible(states[0], seen.lengths))
        return states.reshape(samples + seen.places)

    def _symbols(self, member: str, remedy: str) -> Symbols:
        """Return the emission, or raise NotImplementedError if it does not emit words."""
        if isinstance(self.emission, Symbols):
            return self.emission
        raise NotImplementedError(
            f"{member} returns words, but {self.emission!r} does not emit words; {remedy}"
        )


def _feasible(states: Tensor, lengths: Tensor) -> Tensor:
    """Return 0 for each sentence that has states or is empty, -inf for impossible ones: ``(batch,)``."""
    result = (states >= 0).any(1) | (lengths == 0)
    return torch.where(result, 0.0, NEG_INF)
