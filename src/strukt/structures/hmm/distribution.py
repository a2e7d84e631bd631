"""Hidden Markov models: distributions over sequences of observations that hidden states emit."""

from __future__ import annotations

import math
import os
from collections.abc import Callable

from torch import Tensor
from torch.optim import Optimizer
from typing_extensions import Self

from strukt.checks import arguments
from strukt.checks.lengths import Lengths
from strukt.structures.hmm import baum_welch, saved
from strukt.structures.hmm.estimation import HMMEstimation
from strukt.structures.hmm.logits import free_numbers
from strukt.structures.hmm.priors import Priors
from strukt.structures.hmm.results import Fit


class HMM(HMMEstimation):
    """A hidden Markov model: each state emits a word or a vector, and the next state depends only on the current.

    Args:
        initial: ``(z,)``, the logits of the initial state: one for each of the z states.
        transition: Logits ``(z, z)``, where ``[i, j]`` is for state i followed by state j, or a `Transition` such
            as `LowRank`.
        emission: Logits ``(z, v)`` of v words in each state, or an `Emission` such as `Embedded` or `Gaussian`.
        checkpoint: Whether the gradient of `log_prob` stores O(sqrt(n)) messages instead of all n, at the cost of
            one more forward pass.
        storage: The type in which `log_prob` stores the transition matrix, such as ``torch.bfloat16``; None for
            that of the logits. Products with the matrix round the probabilities of states to this type, too.
        validate_args: Whether to check values as well as shapes; if None, see `strukt.set_default_validate_args`.

    All logits are normalised here; -inf forbids. The probabilities of a row of only -inf are 0. Observations ``x``
    are sentences, LongTensors ``(*, n)`` of words 0 to v - 1, or whatever the emission takes, such as vectors
    ``(*, n, d)``. They have ``lengths (*)``; padding is ignored. `strukt.pad_concatenated` makes a padded batch of
    concatenated sequences.

    A step takes O(z^2) time for a dense transition, O(z r) for one of rank r, and O(z w) for a band of w states to
    either side. The gradient of `log_prob` stores a message of each word: r numbers at low rank without a band,
    else z. With ``checkpoint`` it stores the messages of O(sqrt(n)) words. With `Blocked` emissions and no band,
    it stores z / b numbers of each word for b blocks, and ``checkpoint`` and ``storage`` have no effect.

    States whose probability underflows relative to others count as impossible: use float64 if later observations
    may make them probable again, as with a narrow band.

    Raises:
        ValueError: If the transition or the emission is left out, or shapes, types or values do not fit.

    Source:
        Rabiner (1989), "A tutorial on hidden Markov models and selected applications in speech recognition".

    Examples:
        >>> import torch
        >>> logits = torch.tensor([[2.0, 0.0], [0.0, 2.0]])
        >>> coins = HMM(torch.zeros(2), logits, torch.tensor([[0.0, 0.0], [0.0, 3.0]]))  # fair, unfair
        >>> x = torch.tensor([1, 1, 1, 0, 0])
        >>> coins.log_prob(x).exp()
        tensor(0.0286)
        >>> coins.filter(x)[:, 1]  # the probability of the unfair coin at each throw
        tensor([0.6558, 0.7555, 0.8125, 0.2108, 0.0355])
        >>> coins.posterior(x).mode
        tensor([0, 0, 0, 0, 0])
        >>> coins.infill(x, torch.tensor([False, True, False, False, False])).log_probs[1].exp()  # throw 2
        tensor([0.3175, 0.6825])
    """

    def fit(
        self,
        x: Tensor,
        lengths: Lengths | None = None,
        steps: int = 100,
        tolerance: float = 1e-2,
        restarts: int = 0,
        priors: Priors = Priors(),  # noqa: B008  # frozen
        optimizer: Callable[[list[Tensor]], Optimizer] | None = None,
    ) -> Fit[Self]:
        """Fit by EM or gradients, starting from these parameters; return the fit of the highest density.

        The density is the likelihood, times the prior density of the parameters. This model is not modified.

        Args:
            x: ``(*, n)``, words, or other observations ``(*, n, *event)``.
            lengths: ``(*)``; all n if None.
            steps: The largest number of steps, at least 1.
            tolerance: If a step improves the log-density by this many nats or less, the fit ends after the next
                step; -inf to take all steps.
            restarts: The number of further fits from random parameters of the same form, drawn with PyTorch's
                generator; the best of all is returned. Means and rates start at clusters of the observations.
            priors: The priors of the parameters; flat by default.
            optimizer: A function from a list of parameters to an optimiser, such as ``torch.optim.LBFGS``, for
                gradient steps; None for expectation maximisation (EM, Baum-Welch).

        Impossible sequences are left out; of several fits, the best is one that leaves out the fewest.

        Raises:
            ValueError: As for `log_prob`; or if a setting is out of its range, a prior does not belong to these
                parameters, there are no observations to restart from, or in all fits parameters become NaN or
                infinite.
            NotImplementedError: If ``optimizer`` is None, and EM has no closed form for the emission, as for
                `Embedded`.

        Warns:
            UserWarning: If the fit left out impossible sequences.

        Examples:
            >>> import torch
            >>> from strukt import Gaussian
            >>> _ = torch.manual_seed(0)
            >>> x = torch.cat([torch.randn(50, 1), torch.randn(50, 1) + 9])
            >>> form = HMM(torch.zeros(2), torch.zeros(2, 2), Gaussian(torch.zeros(2, 1), torch.ones(2, 1)))
            >>> form.fit(x, restarts=1).model.emission.means.flatten().sort().values.round()
            tensor([0., 9.])
        """
        return baum_welch.best(self, x, lengths, steps, tolerance, restarts, priors, optimizer)

    # Criteria, and files.

    @property
    def free_parameters(self) -> int:
        """The number of free parameters.

        Parameters of forbidden events count, too, since a fit may have set their probabilities to 0.
        """
        return free_numbers(self.initial, 0) + self.transition.free_parameters + self.emission.free_parameters

    def aic(self, x: Tensor, lengths: Lengths | None = None) -> Tensor:
        """Return Akaike's information criterion (AIC) for all observations together, ``()``; lower is better.

        It is +inf if a sequence is impossible.

        Raises:
            ValueError: As for `log_prob`, which describes x and lengths.
        """
        return 2.0 * (self.free_parameters - self.log_prob(x, lengths).sum())

    def bic(self, x: Tensor, lengths: Lengths | None = None) -> Tensor:
        """Return the Bayesian information criterion (BIC) for all observations together, ``()`` (Schwarz 1978).

        Lower is better; the sample size is the number of observations. It is +inf if a sequence is impossible.

        Raises:
            ValueError: As for `log_prob`, which describes x and lengths.
        """
        count = len(self._observed(x, lengths).values)
        return self.free_parameters * math.log(max(count, 1)) - 2.0 * self.log_prob(x, lengths).sum()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file of safetensors, with its form as JSON in the metadata.

        An existing file is replaced. The settings ``checkpoint`` and ``storage`` are not part of the file.

        Args:
            path: The file; its folder must exist.

        Raises:
            ValueError: If the transition or the emission is of a class that is not strukt's.
            DataError: If the file cannot be written.
        """
        saved.save(path, self)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that `save` has written, to the CPU; ``checkpoint`` and ``storage`` have their defaults.

        Args:
            path: The file.

        Raises:
            DataError: If the file is missing or damaged, or not such a model.
        """
        return saved.load(path, cls)

    def select(self, states: Tensor) -> Self:
        """Return the model restricted to some states and normalised again, as for dropout of states.

        Args:
            states: ``(k,)``, the indices of the states, in ascending order; on a GPU the order is not checked.

        Raises:
            ValueError: If ``states`` is not a vector of integers, is empty, names a state that does not exist, or
                is not in ascending order, or if there are not equally many states of each block of a `Blocked`
                emission.
        """
        arguments.integers("states", states, "(k,)", self.initial.device)
        if states.dim() != 1 or not len(states):
            raise ValueError(f"states has shape {tuple(states.shape)}; expected (k,), at least one state")
        if states.is_cpu:
            ascending = bool((states[1:] > states[:-1]).all())
            if not ascending or not 0 <= int(states[0]) <= int(states[-1]) < self.states:
                highest = self.states - 1
                raise ValueError(
                    f"states is {states.tolist()}; expected indices from 0 to {highest}, in ascending order"
                )
        return self._rebuilt(
            self.initial[states], self.transition.select(states), self.emission.select(states)
        )
