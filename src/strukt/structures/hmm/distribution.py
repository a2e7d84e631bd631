"""Hidden Markov models: distributions over sequences of words, with a hidden state behind each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from typing_extensions import Self

from strukt.checks import arguments, guards
from strukt.checks.lengths import Lengths
from strukt.kernels.semiring import NEG_INF
from strukt.structures.hmm import queries
from strukt.structures.hmm.counts import Counts, expected_counts
from strukt.structures.hmm.evidence import following
from strukt.structures.hmm.parameters import HMMParameters
from strukt.structures.hmm.reference import safe_log
from strukt.structures.hmm.transitions import softmax, updated
from strukt.structures.linear_chain.distribution import LinearChain


class Infilling(NamedTuple):
    """Words at missing places, given all others; see `HMM.infill`.

    Attributes:
        log_probs: ``(*, n, v)``, the log-probability of each word at each place, given the words that are there:
            at their places 0 for the word itself and -inf for others; -inf beyond the length.
        best: ``(*, n)``, with the most probable word at each missing place on its own, so that in expectation the
            fewest are wrong; -1 beyond the length.
        sample: ``(*, n)``, with missing words drawn from their joint distribution; -1 beyond the length.
    """

    log_probs: Tensor
    best: Tensor
    sample: Tensor


class HMM(HMMParameters):
    """A hidden Markov model: each state emits a word, and the next state depends on this one alone (Rabiner 1989).

    Args:
        initial: ``(z,)``, logits of the first state.
        transition: Logits ``(z, z)``, ``[i, j]`` of state i followed by state j, or an operator such as `LowRank`.
        emission: Logits ``(z, v)`` of the words in each state, or an `Emission` such as `Embedded`.
        checkpoint: Whether the gradient of `log_prob` keeps O(sqrt(n)) messages and not all n, for one more
            forward pass.
        storage: A type in which to keep the transition matrix for `log_prob`, such as ``torch.bfloat16``; products
            with it are added up in float32.
        validate_args: Whether to check values as well as shapes.

    All logits are normalised here, -inf forbids; a row that is all -inf stays 0. Sentences ``x`` are LongTensors
    ``(*, n)`` of words 0 to v - 1, with ``lengths (*)``; what stands beyond a length is ignored.

    A step takes O(z^2) for a dense transition, O(z r) for one of low rank, and O(z w) for a band. For its gradient
    `log_prob` keeps O(n r) at low rank, O(n z) otherwise, and O(sqrt(n) z) with ``checkpoint``.

    States that underflow beside others count as impossible: use float64 where later words may bring them back, as
    with a narrow band.

    Raises:
        ValueError: If shapes, types or values do not fit.

    Examples:
        >>> logits = torch.tensor([[2.0, 0.0], [0.0, 2.0]])
        >>> coins = HMM(torch.zeros(2), logits, torch.tensor([[0.0, 0.0], [0.0, 3.0]]))
        >>> x = torch.tensor([1, 1, 1, 0, 0])
        >>> coins.log_prob(x).exp()
        tensor(0.0286)
        >>> coins.filter(x)[:, 1]  # the probability of the unfair coin, as time goes on
        tensor([0.6558, 0.7555, 0.8125, 0.2108, 0.0355])
        >>> coins.posterior(x).mode
        tensor([0, 0, 0, 0, 0])
        >>> coins.infill(x, torch.tensor([False, True, False, False, False])).log_probs[1].exp()
        tensor([0.3175, 0.6825])
    """

    # The probability of words.

    def log_prob(self, x: Tensor, lengths: Lengths | None = None) -> Tensor:
        """The log-probability of sentences given their lengths: ``(*)``; -inf if impossible. Differentiable."""
        words, flat, shape = self._sentences(x, lengths)
        factors = self.transition.factors()
        return self._evidence(words, flat, self._beginning(len(words)), factors)[0].reshape(shape)

    def stream(
        self, x: Tensor, state: Tensor | None = None, lengths: Lengths | None = None
    ) -> tuple[Tensor, Tensor]:
        """The log-probability of the next words of texts, and the state to go on from.

        Args:
            x: ``(*, n)``, the next words.
            state: ``(*, z)``, what this gave for the words before them; the beginning of a text if None. Detached,
                it ends the gradient there (truncated back-propagation through time).
            lengths: ``(*)``.

        Returns:
            ``(*)``, and the distribution of the state behind the word after these, ``(*, z)``; 0 where they are
            impossible.
        """
        words, flat, shape = self._sentences(x, lengths)
        initial = self._beginning(len(words)) if state is None else self._given(state, shape)
        factors = self.transition.factors()
        evidence, last = self._evidence(words, flat, initial, factors)
        after = following(last, flat, initial, *factors)
        return evidence.reshape(shape), after.reshape(*shape, self.states)

    def predict(self, x: Tensor, lengths: Lengths | None = None) -> Tensor:
        """The log-probability of each word at each place given the words before it: ``(*, n, v)``; differentiable.

        -inf beyond the lengths, and behind words that are impossible. O(n z v) more than `filter`.
        """
        words, flat, _ = self._sentences(x, lengths)
        table = self._table()
        _, ahead = queries.filtered(words, flat, *self._model(len(words), table))
        return _of_words(ahead, table).reshape(*x.shape, len(table))

    def infill(self, x: Tensor, missing: Tensor, lengths: Lengths | None = None) -> Infilling:
        """Words for the missing places of sentences, given all the others, before and behind.

        The best joint completion is NP-hard to find (Lyngsø and Pedersen 2002); `Infilling` has the best word for
        each place, and one joint sample. O(n z v) more than `smooth`.

        Args:
            x: ``(*, n)``; at missing places anything.
            missing: ``(*, n)``, Boolean.
            lengths: ``(*)``.

        Raises:
            InfeasibleError: If the words that are there are impossible.
        """
        arguments.mask("missing", missing, x.shape)
        words, flat, _ = self._sentences(x, lengths, missing)
        gaps = missing.reshape(words.shape)
        model = self._model(len(words), self._table(missing=True))
        within = torch.arange(words.shape[1], device=words.device) < flat[:, None]
        log_probs = _of_words(queries.smoothed(words, flat, *model), model[1][:-1])
        said = torch.arange(log_probs.shape[2], device=words.device) == words.unsqueeze(2)
        log_probs = torch.where((gaps & within).unsqueeze(2), log_probs, torch.where(said, 0.0, NEG_INF))
        log_probs = torch.where(within.unsqueeze(2), log_probs, NEG_INF)
        with torch.no_grad():
            states = queries.sampled(words, flat, *model, 1)[0]
            guards.require_feasible(states, _feasible(states, flat))
            drawn = self._drawn(states.clamp(min=0).flatten()).view_as(words)
        best = torch.where(gaps, log_probs.argmax(2), words)
        best, drawn = (torch.where(within, torch.where(gaps, some, words), -1) for some in (best, drawn))
        log_probs = log_probs.reshape(*x.shape, len(model[1]) - 1)
        return Infilling(log_probs, best.reshape(x.shape), drawn.reshape(x.shape))

    def sample(self, sample_shape: Sequence[int] = (), length: int = 1) -> Tensor:
        """Sentences of a length: ``sample_shape + (length,)``. O(z + r + v) for a word at low rank."""
        shape = arguments.sample_shape(sample_shape, "sample")
        with torch.no_grad():
            factors = self.transition.factors()
            states = torch.multinomial(softmax(self.initial, 0), shape.numel(), replacement=True)
            path = [states] if length else []
            while len(path) < length:
                path.append(queries.next_states(path[-1], *factors))
            visited = torch.stack(path, 1) if path else states.new_empty(shape.numel(), 0)
            return self._drawn(visited.flatten()).reshape(*shape, length)

    # The states behind the words.

    def filter(self, x: Tensor, lengths: Lengths | None = None) -> Tensor:
        """The probability of each state given the words up to it: ``(*, n, z)``; differentiable.

        Zeros beyond the lengths, and behind words that are impossible.
        """
        words, flat, _ = self._sentences(x, lengths)
        states, _ = queries.filtered(words, flat, *self._model(len(words)))
        return states.reshape(*x.shape, self.states)

    def smooth(self, x: Tensor, lengths: Lengths | None = None) -> Tensor:
        """The probability of each state given all words: ``(*, n, z)``; differentiable.

        These are the marginals of `posterior`, in O(n z r) at low rank.
        """
        words, flat, _ = self._sentences(x, lengths)
        found = queries.smoothed(words, flat, *self._model(len(words)))
        return found.reshape(*x.shape, self.states)

    def posterior(self, x: Tensor, lengths: Lengths | None = None) -> LinearChain:
        """The distribution of the state sequence given the words; its log-partition is their log-probability.

        All operators of a `LinearChain` follow, such as the best state sequences, their entropy, and samples. The
        transition matrix ``(z, z)`` is made for it, and they take O(n z^2); `smooth`, `viterbi` and
        `sample_posterior` need no such matrix.
        """
        words, flat, shape = self._sentences(x, lengths)
        times = torch.arange(words.shape[1], device=words.device)
        unary = self._table()[torch.where(times < flat[:, None], words, 0)]
        beginning = unary + safe_log(softmax(self.initial, 0))
        unary = torch.where((times == 0).unsqueeze(1), beginning, unary)
        matrix = safe_log(self.transition.dense())
        chain = unary.reshape(*shape, *unary.shape[1:])
        return LinearChain(chain, matrix, flat.reshape(shape), validate_args=False)

    def viterbi(self, x: Tensor, lengths: Lengths | None = None) -> tuple[Tensor, Tensor]:
        """The most probable states ``(*, n)``, and the log of their probability together with the words.

        O(n z^2) time, as a maximum has no way through the factors, but O(n z) memory. -1 beyond the lengths.

        Raises:
            InfeasibleError: If some sentence is impossible.
        """
        words, flat, shape = self._sentences(x, lengths)
        with torch.no_grad():
            path, score = queries.best_path(words, flat, *self._model(len(words)))
        guards.require_feasible(path, score)
        return path.reshape(x.shape), score.to(self.initial.dtype).reshape(shape)

    def sample_posterior(
        self, x: Tensor, lengths: Lengths | None = None, sample_shape: Sequence[int] = ()
    ) -> Tensor:
        """State sequences given the words: ``sample_shape + (*, n)``, -1 beyond the lengths.

        Raises:
            InfeasibleError: If some sentence is impossible.
        """
        words, flat, _ = self._sentences(x, lengths)
        samples = arguments.sample_shape(sample_shape)
        with torch.no_grad():
            found = queries.sampled(words, flat, *self._model(len(words)), samples.numel())
        if samples.numel():
            guards.require_feasible(found[0], _feasible(found[0], flat))
        return found.reshape(samples + x.shape)

    # Other models made from this one.

    def expected_counts(self, x: Tensor, lengths: Lengths | None = None) -> Counts:
        """How often each parameter is used in expectation, given the words; counts of batches may be added."""
        words, flat, _ = self._sentences(x, lengths)
        return expected_counts(
            words, flat, softmax(self.initial, 0), self._table(), *self.transition.factors()
        )

    def maximised(self, counts: Counts) -> Self:
        """The model of the highest expected likelihood for counts: a step of EM (Baum et al. 1970).

        States that never occurred keep their parameters. At low rank the features between states are hidden, too.
        """
        transition = self.transition.maximised(counts.matrices, counts.band)
        initial = updated(self.initial, counts.initial, 0).detach()
        return self._rebuilt(initial, transition, self.emission.maximised(counts.emission))

    def fit_em(
        self, x: Tensor, lengths: Lengths | None = None, steps: int = 50, tolerance: float = 0.0
    ) -> tuple[Self, Tensor]:
        """The model after steps of EM on sentences, and their log-probability before each: ``(steps taken,)``.

        Args:
            x: ``(*, n)``.
            lengths: ``(*)``.
            steps: The most steps, at least 1.
            tolerance: In nats. A step that begins at a log-probability not higher by more than this is the last.
        """
        if steps < 1:
            raise ValueError(f"steps is {steps}; expected at least 1")
        model, reached = self, [-torch.inf]
        for _ in range(steps):
            counts = model.expected_counts(x, lengths)
            model = model.maximised(counts)
            reached.append(counts.log_prob.item())
            if not reached[-1] > reached[-2] + tolerance:
                break
        return model, torch.tensor(reached[1:], dtype=torch.float64)

    def select(self, states: Tensor) -> Self:
        """The model with some of the states ``(k,)`` alone, rising, normalised again: dropout of states."""
        return self._rebuilt(
            self.initial[states], self.transition.select(states), self.emission.select(states)
        )


def _of_words(states: Tensor, table: Tensor) -> Tensor:
    """Log-probabilities of words ``(batch, n, v)`` where the probabilities of states are ``(batch, n, z)``."""
    top = table.detach().amax(1)
    top = torch.where(top == NEG_INF, 0.0, top)
    return safe_log(states @ (table - top.unsqueeze(1)).exp().mT) + top


def _feasible(states: Tensor, lengths: Tensor) -> Tensor:
    """0 for sentences ``(batch,)`` that have states ``(batch, n)``, -inf for the others."""
    found = (states >= 0).any(1) | (lengths == 0)
    return torch.where(found, 0.0, NEG_INF)
