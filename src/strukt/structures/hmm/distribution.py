"""Hidden Markov models: distributions over sequences of observations, each from a hidden state."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, distributions
from torch.optim import Optimizer
from typing_extensions import Self

from strukt.checks import arguments, guards
from strukt.checks.lengths import Lengths
from strukt.kernels.semiring import NEG_INF
from strukt.structures.hmm import fitting, queries, saved
from strukt.structures.hmm.answers import Fit, Infilling, Sampled
from strukt.structures.hmm.counts import Counts, expected_counts
from strukt.structures.hmm.evidence import following
from strukt.structures.hmm.parameters import HMMParameters
from strukt.structures.hmm.priors import Priors, dirichlet_log_density, with_dirichlet
from strukt.structures.hmm.reference import safe_log
from strukt.structures.hmm.symbols import Symbols, words_of_states
from strukt.structures.hmm.transitions import free_numbers, redrawn, softmax, updated
from strukt.structures.linear_chain.distribution import LinearChain


class HMM(HMMParameters):
    """A hidden Markov model: each state emits a word or a vector, and the next state depends only on this one.

    Args:
        initial: ``(z,)``, logits of the first state.
        transition: Logits ``(z, z)``, ``[i, j]`` of state i followed by state j, or an operator such as `LowRank`.
        emission: Logits ``(z, v)`` of the words in each state, or an `Emission` such as `Embedded` or `Gaussian`.
        checkpoint: Whether the gradient of `log_prob` stores O(sqrt(n)) messages instead of all n, at the cost of
            one more forward pass.
        storage: The type in which `log_prob` stores the transition matrix, such as ``torch.bfloat16``; products
            are accumulated in float32.
        validate_args: Whether to check values as well as shapes.

    All logits are normalised here; -inf forbids. The probabilities of a row of only -inf are 0. Observations ``x``
    are sentences, LongTensors ``(*, n)`` of words 0 to v - 1, or whatever the emission takes, such as vectors
    ``(*, n, d)``. They have ``lengths (*)``; padding is ignored. `strukt.pad_concatenated` makes a batch of
    concatenated sequences.

    A step takes O(z^2) for a dense transition, O(z r) for one of low rank, and O(z w) for a band. The gradient of
    `log_prob` stores O(n r) numbers at low rank, O(n z) otherwise, and O(sqrt(n) z) with ``checkpoint``.

    States whose probability underflows relative to others count as impossible: use float64 if later observations
    may make them probable again, as with a narrow band.

    Raises:
        ValueError: If shapes, types or values do not fit.

    Source:
        Rabiner (1989), "A tutorial on hidden Markov models and selected applications in speech recognition".

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

    # The probability of observations.

    def log_prob(self, x: Tensor, lengths: Lengths | None = None) -> Tensor:
        """Return the log-probability of sequences given lengths, ``(*)``; -inf if impossible. Differentiable."""
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
            lengths: ``(*)``.

        Returns:
            ``(*)``, the log-probability, and the distribution of the state of the next observation, ``(*, z)``; 0
            for impossible observations.
        """
        factors = self.transition.factors()
        seen = self._observed(x, lengths, by_block=factors[1] is None)
        initial = self._beginning(len(seen.rows)) if state is None else self._given(state, seen.shape)
        evidence, last = self._evidence(seen, initial, factors)
        after = following(last, seen.lengths, initial, *factors)
        return evidence.reshape(seen.shape), after.reshape(*seen.shape, self.states)

    def predict_next(self, x: Tensor, lengths: Lengths | None = None) -> distributions.Distribution:
        """Return the distribution of the observation after the last one, from PyTorch, with batch shape ``(*)``.

        For words it is a ``torch.distributions.Categorical``, otherwise a mixture over the states. Differentiable.

        Raises:
            InfeasibleError: If some sequence is impossible.

        Examples:
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
        table = self._symbols("predict", "predict_next(x) has the distribution of the next one").table()
        seen = self._observed(x, lengths)
        _, ahead = queries.filtered(seen.rows, seen.lengths, *self._model(seen))
        return words_of_states(ahead, table).reshape(*x.shape, len(table))

    def infill(self, x: Tensor, missing: Tensor, lengths: Lengths | None = None) -> Infilling:
        """Fill in the missing words of sentences, given all other words, before and after.

        The best joint completion is NP-hard to find (Lyngsø and Pedersen 2002); the result has the best word for
        each position, and one joint sample. O(n z v) more than `smooth`.

        Args:
            x: ``(*, n)``; missing positions may hold anything.
            missing: ``(*, n)``, Boolean.
            lengths: ``(*)``.

        Raises:
            InfeasibleError: If the observed words are impossible.
            NotImplementedError: If observations are not words.
        """
        table = self._symbols(
            "infill", "smooth and sample_posterior have the states of complete ones"
        ).table()
        arguments.mask("missing", missing, x.shape)
        seen = self._observed(x, lengths, missing)
        model, flat = self._model(seen), seen.lengths
        words, gaps = x.long().reshape(seen.rows.shape), missing.reshape(seen.rows.shape)
        within = torch.arange(words.shape[1], device=words.device) < flat[:, None]
        log_probs = words_of_states(queries.smoothed(seen.rows, flat, *model), table)
        said = torch.arange(log_probs.shape[2], device=words.device) == words.unsqueeze(2)
        log_probs = torch.where((gaps & within).unsqueeze(2), log_probs, torch.where(said, 0.0, NEG_INF))
        log_probs = torch.where(within.unsqueeze(2), log_probs, NEG_INF)
        with torch.no_grad():
            states = queries.sampled(seen.rows, flat, *model, 1)[0]
            guards.require_feasible(states, _feasible(states, flat))
            drawn = self.emission.drawn(states.clamp(min=0).flatten()).view_as(words)
        best = torch.where(gaps, log_probs.argmax(2), words)
        best, drawn = (torch.where(within, torch.where(gaps, some, words), -1) for some in (best, drawn))
        log_probs = log_probs.reshape(*x.shape, len(table))
        return Infilling(log_probs, best.reshape(x.shape), drawn.reshape(x.shape))

    def sample(self, sample_shape: Sequence[int] = (), length: int = 1) -> Tensor:
        """Draw observations ``sample_shape + (length, *event)``; O(z + r + v) time for a word at low rank."""
        return self.sample_with_states(sample_shape, length).x

    def sample_with_states(self, sample_shape: Sequence[int] = (), length: int = 1) -> Sampled:
        """Draw observations as `sample` does, and return them with their hidden states."""
        shape = arguments.sample_shape(sample_shape, "sample")
        with torch.no_grad():
            factors = self.transition.factors()
            count = shape.numel()
            states = torch.multinomial(softmax(self.initial, 0), max(count, 1), replacement=True)[:count]
            path = [states] if length else []
            while len(path) < length:
                path.append(queries.next_states(path[-1], *factors))
            visited = torch.stack(path, 1) if path else states.new_empty(count, 0)
            drawn = self.emission.drawn(visited.flatten())
        return Sampled(drawn.reshape(*shape, length, *drawn.shape[1:]), visited.reshape(*shape, length))

    # The hidden states.

    def filter(self, x: Tensor, lengths: Lengths | None = None) -> Tensor:
        """Return the probability of each state given the observations up to it: ``(*, n, z)``; differentiable.

        Zeros in the padding, and after impossible observations.
        """
        seen = self._observed(x, lengths)
        states, _ = queries.filtered(seen.rows, seen.lengths, *self._model(seen))
        return states.reshape(*seen.places, self.states)

    def smooth(self, x: Tensor, lengths: Lengths | None = None) -> Tensor:
        """Return the probability of each state given all observations: ``(*, n, z)``; differentiable.

        These are the marginals of `posterior`, in O(n z r) at low rank.
        """
        seen = self._observed(x, lengths)
        states = queries.smoothed(seen.rows, seen.lengths, *self._model(seen))
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
            path, score = queries.best_path(seen.rows, seen.lengths, *self._model(seen))
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
            states = queries.sampled(seen.rows, seen.lengths, *self._model(seen), samples.numel())
        if samples.numel():
            guards.require_feasible(states[0], _feasible(states[0], seen.lengths))
        return states.reshape(samples + seen.places)

    # Other models made from this one.

    def expected_counts(self, x: Tensor, lengths: Lengths | None = None) -> Counts:
        """Return the expected uses of each parameter given observations (E step); counts can be added up."""
        with torch.no_grad():
            seen = self._observed(x, lengths)
            model = (softmax(self.initial, 0), seen.table, *self.transition.factors())
            rows = len(seen.table) if len(seen.values) else 0
            return expected_counts(
                seen.rows,
                seen.lengths,
                *model,
                statistics=lambda used: self.emission.statistics(seen.values, used[:rows]),
            )

    def maximised(self, counts: Counts, priors: Priors = Priors()) -> Self:  # noqa: B008  # frozen
        """Return the model that maximises the expected likelihood and prior: the M step of EM (Baum et al. 1970).

        States without counts and without prior keep their parameters. At low rank, the features between states are
        hidden variables, too.

        Raises:
            ValueError: If a prior does not belong to these parameters.
            NotImplementedError: If the emission has no closed form, as `Embedded`.
        """
        first = with_dirichlet(counts.initial, self.initial > NEG_INF, priors.initial, "priors.initial")
        matrices, band = (
            [with_dirichlet(count, kept > 0, priors.transition, "priors.transition") for count, kept in pairs]
            for pairs in self._counted(counts)
        )
        transition = self.transition.maximised(tuple(matrices), band[0] if band else None)
        initial = updated(self.initial, first, 0).detach()
        return self._rebuilt(initial, transition, self.emission.maximised(counts.emission, priors.emission))

    def fit(
        self,
        x: Tensor,
        lengths: Lengths | None = None,
        steps: int = 100,
        tolerance: float = 1e-2,
        restarts: int = 0,
        priors: Priors = Priors(),  # noqa: B008  # frozen
        optimizer: Callable[[list[Tensor]], Optimizer] | None = None,
    ) -> Fit:
        """Fit by EM or gradients from here; return the model of the highest likelihood or posterior density.

        Args:
            x: ``(*, n)``, or other observations.
            lengths: ``(*)``.
            steps: Bound on the steps, at least 1.
            tolerance: The improvement in nats of a step at or below which the fit ends.
            restarts: The number of further fits from random parameters of the same form, drawn with PyTorch's
                generator; the best of all is returned. Means and rates start at clusters of the observations.
            priors: The priors of the parameters; flat by default.
            optimizer: Function of parameters to an optimiser, such as ``torch.optim.LBFGS``, for gradient steps;
                None for expectation maximisation (EM, Baum-Welch).

        Impossible sequences are left out; among several fits, those with the fewest are preferred.

        Raises:
            ValueError: If ``steps`` or ``restarts`` are too small, or a prior does not belong to these parameters.
            NotImplementedError: If EM has no closed form for the emission, as for `Embedded`.

        Examples:
            >>> from strukt import Gaussian
            >>> _ = torch.manual_seed(0)
            >>> x = torch.cat([torch.randn(50, 1), torch.randn(50, 1) + 9])
            >>> form = HMM(torch.zeros(2), torch.zeros(2, 2), Gaussian(torch.zeros(2, 1), torch.ones(2, 1)))
            >>> form.fit(x, restarts=1).model.emission.means.flatten().sort().values.round()
            tensor([0., 9.])
        """
        return fitting.best(self, x, lengths, steps, tolerance, restarts, priors, optimizer)

    def redrawn(self, x: Tensor, lengths: Lengths | None = None) -> Self:
        """Return a model of the same form with random parameters, as the start of a fit to observations.

        Raises:
            ValueError: If there are no observations.
        """
        with torch.no_grad():
            values = self._observed(x, lengths).values
            if not len(values):
                raise ValueError("x holds no observations; expected some to draw parameters for")
            emission = self.emission.redrawn(values)
            return self._rebuilt(redrawn(self.initial), self.transition.redrawn(), emission)

    def unconstrained(self) -> tuple[Tensor, ...]:
        """Return the parameters as unconstrained tensors, for gradients; `from_unconstrained` is the inverse."""
        return self.initial, *self.transition.unconstrained(), *self.emission.unconstrained()

    def from_unconstrained(self, parameters: Sequence[Tensor]) -> Self:
        """Return the model of unconstrained parameters; differentiable."""
        count = len(self.transition.unconstrained()) + 1
        transition = self.transition.from_unconstrained(tuple(parameters[1:count]))
        return self._rebuilt(
            parameters[0], transition, self.emission.from_unconstrained(tuple(parameters[count:]))
        )

    def log_prior(self, priors: Priors) -> Tensor:
        """Return the log-density of the parameters under priors, up to a constant: ``()``; differentiable."""
        matrices, band = self.transition.factors()
        factors = (*matrices, *(() if band is None else (band,)))
        first = dirichlet_log_density(safe_log(softmax(self.initial, 0)), priors.initial, "priors.initial")
        total = first + self.emission.log_prior(priors.emission)
        for factor in factors:
            total = total + dirichlet_log_density(safe_log(factor), priors.transition, "priors.transition")
        return total

    # Criteria, and files.

    @property
    def free_parameters(self) -> int:
        """The number of free parameters.

        Forbidden ones count, too, since a fit may have set them to 0.
        """
        return free_numbers(self.initial, 0) + self.transition.free_parameters + self.emission.free_parameters

    def aic(self, x: Tensor, lengths: Lengths | None = None) -> Tensor:
        """Return Akaike's information criterion (AIC) for all observations together, ``()``; lower is better."""
        return 2.0 * (self.free_parameters - self.log_prob(x, lengths).sum())

    def bic(self, x: Tensor, lengths: Lengths | None = None) -> Tensor:
        """Return the Bayesian information criterion (BIC) for all observations together, ``()`` (Schwarz 1978).

        Lower is better; the sample size is the number of observations.
        """
        count = len(self._observed(x, lengths).values)
        return self.free_parameters * math.log(max(count, 1)) - 2.0 * self.log_prob(x, lengths).sum()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file of safetensors, with its form as JSON in the metadata.

        Raises:
            ValueError: If the transition or the emission is of a class that is not strukt's.
            DataError: If the file cannot be written.
        """
        saved.save(path, self)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that `save` has written, to the CPU.

        Raises:
            DataError: If the file is missing or damaged, or not such a model.
        """
        return saved.load(path, cls)

    def select(self, states: Tensor) -> Self:
        """Return the model restricted to states ``(k,)``, rising, and normalised again: dropout of states."""
        return self._rebuilt(
            self.initial[states], self.transition.select(states), self.emission.select(states)
        )

    def _symbols(self, member: str, remedy: str) -> Symbols:
        """Return the emission, checked to be one of words."""
        if isinstance(self.emission, Symbols):
            return self.emission
        raise NotImplementedError(
            f"{member} answers with words, and observations of {self.emission!r} are none; {remedy}"
        )

    def _counted(self, counts: Counts) -> tuple[list[tuple[Tensor, Tensor]], list[tuple[Tensor, Tensor]]]:
        """Return counts with the probabilities that they belong to: the matrices, and the band if there is one."""
        matrices, band = self.transition.factors()
        pairs = list(zip(counts.matrices, matrices, strict=True))
        return pairs, [] if band is None or counts.band is None else [(counts.band, band)]


def _feasible(states: Tensor, lengths: Tensor) -> Tensor:
    """Return 0 for sentences ``(batch,)`` that have states ``(batch, n)``, -inf for all others."""
    result = (states >= 0).any(1) | (lengths == 0)
    return torch.where(result, 0.0, NEG_INF)
