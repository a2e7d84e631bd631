"""The steps of a fit: E step, M step, random starts, unconstrained parameters, and log-densities of priors."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from typing_extensions import Self

from strukt.checks.lengths import Lengths
from strukt.kernels.full_precision import full_precision
from strukt.kernels.semiring import NEG_INF
from strukt.structures.hmm.counts import Counts, expected_counts
from strukt.structures.hmm.inference import HMMInference
from strukt.structures.hmm.logits import redrawn, softmax, updated
from strukt.structures.hmm.priors import Priors, dirichlet_log_density, with_dirichlet
from strukt.structures.hmm.reference import safe_log


class HMMEstimation(HMMInference):
    """A hidden Markov model whose parameters can be estimated, step by step; see `HMM.fit`."""

    @full_precision
    def expected_counts(self, x: Tensor, lengths: Lengths | None = None) -> Counts:
        """Return the expected number of uses of each parameter given observations: the E step of EM.

        The counts of several batches can be added.

        Raises:
            ValueError: As for `log_prob`, which describes x and lengths.
        """
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

    @full_precision
    def maximised(self, counts: Counts, priors: Priors = Priors()) -> Self:  # noqa: B008  # frozen
        """Return the model that maximises the expected log-likelihood plus the log-prior (Baum et al. 1970).

        This is the M step of EM. States with neither counts nor a prior keep their parameters. At low rank, the
        features between states are hidden variables, too.

        Args:
            counts: The result of `expected_counts`, or a sum of such results.
            priors: The priors of the parameters; flat by default.

        Raises:
            ValueError: If a prior does not belong to these parameters.
            NotImplementedError: If the M step of the emission has no closed form, such as that of `Embedded`.
        """
        first = with_dirichlet(counts.initial, self.initial > NEG_INF, priors.initial, "priors.initial")
        matrices, band = (
            [with_dirichlet(count, kept > 0, priors.transition, "priors.transition") for count, kept in pairs]
            for pairs in self._counted(counts)
        )
        transition = self.transition.maximised(tuple(matrices), band[0] if band else None)
        initial = updated(self.initial, first, 0).detach()
        return self._rebuilt(initial, transition, self.emission.maximised(counts.emission, priors.emission))

    @full_precision
    def redrawn(self, x: Tensor, lengths: Lengths | None = None) -> Self:
        """Return a model of the same form with random parameters, as the start of a fit to observations.

        Raises:
            ValueError: As for `log_prob`, which describes x and lengths; or if there are no observations.
        """
        with torch.no_grad():
            values = self._observed(x, lengths).values
            if not len(values):
                raise ValueError("x holds no observations; expected at least one")
            emission = self.emission.redrawn(values)
            return self._rebuilt(redrawn(self.initial), self.transition.redrawn(), emission)

    def unconstrained(self) -> tuple[Tensor, ...]:
        """Return the parameters as unconstrained tensors, for gradients; `from_unconstrained` is the inverse.

        They are the logits of the first state ``(z,)``, then the results of `unconstrained` of the transition and
        of the emission. All classes of strukt keep the shapes of their parameters.
        """
        return self.initial, *self.transition.unconstrained(), *self.emission.unconstrained()

    def from_unconstrained(self, parameters: Sequence[Tensor]) -> Self:
        """Return the model with unconstrained ``parameters``, in the form of `unconstrained`; differentiable."""
        count = len(self.transition.unconstrained()) + 1
        transition = self.transition.from_unconstrained(tuple(parameters[1:count]))
        return self._rebuilt(
            parameters[0], transition, self.emission.from_unconstrained(tuple(parameters[count:]))
        )

    @full_precision
    def log_prior(self, priors: Priors) -> Tensor:
        """Return the log-density of the parameters under ``priors``, up to a constant: ``()``; differentiable.

        Raises:
            ValueError: If a prior does not belong to these parameters.
        """
        matrices, band = self.transition.factors()
        factors = (*matrices, *(() if band is None else (band,)))
        first = dirichlet_log_density(safe_log(softmax(self.initial, 0)), priors.initial, "priors.initial")
        total = first + self.emission.log_prior(priors.emission)
        for factor in factors:
            total = total + dirichlet_log_density(safe_log(factor), priors.transition, "priors.transition")
        return total

    def _counted(self, counts: Counts) -> tuple[list[tuple[Tensor, Tensor]], list[tuple[Tensor, Tensor]]]:
        """Return pairs of counts and the probabilities they belong to: for the matrices, and for a band if any."""
        matrices, band = self.transition.factors()
        pairs = list(zip(counts.matrices, matrices, strict=True))
        return pairs, [] if band is None or counts.band is None else [(counts.band, band)]
