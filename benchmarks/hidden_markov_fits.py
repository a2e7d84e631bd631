"""Steps of expectation maximisation of hidden Markov models, beside hmmlearn and dynamax, from the same start."""

from __future__ import annotations

import logging
import math
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from typing import Any, NamedTuple

import torch
from torch import Tensor

from benchmarks.page import section_command
from benchmarks.report import table
from strukt import HMM, Categorical, Gaussian, Poisson

SEQUENCES, LENGTH, STEPS, ROUNDS = 20, 500, 10, 5

Timed = tuple[float, float]
"""CPU seconds, and the log-probability before the last step."""


class Case(NamedTuple):
    """A model to start from, and the observations ``(sequences, n, *event)``."""

    name: str
    start: HMM
    x: Tensor


def cases() -> Iterator[Case]:
    """Yield models to start from, with samples of other models of the same form, in double precision."""
    torch.manual_seed(0)
    factor = torch.randn(8, 4, 4).double()
    full = factor @ factor.mT + torch.eye(4).double()
    forms: dict[str, tuple[int, Callable[[], Any]]] = {
        "8 Gaussians of 4 variances": (8, lambda: Gaussian(2 * _normal(8, 4), torch.ones(8, 4).double())),
        "8 Gaussians of 4 x 4 covariances": (8, lambda: Gaussian(2 * _normal(8, 4), full)),
        "16 states, 50 words": (16, lambda: Categorical(2 * _normal(16, 50))),
        "8 Poisson states": (8, lambda: Poisson(5 * _normal(8, 1).exp())),
    }
    for name, (z, emission) in forms.items():
        true = HMM(_normal(z), 2 * _normal(z, z), emission())
        start = HMM(torch.zeros(z).double(), _normal(z, z), emission())
        yield Case(name, start, true.sample((SEQUENCES,), LENGTH))


def _normal(*shape: int) -> Tensor:
    return torch.randn(shape, dtype=torch.float64)


def by_strukt(case: Case) -> Timed:
    begin = time.process_time()
    fit = case.start.fit(case.x, steps=STEPS, tolerance=-math.inf)
    return time.process_time() - begin, fit.log_probs[-1].item()


def by_hmmlearn(implementation: str, case: Case) -> Timed:
    """Time a fit by hmmlearn, whose `implementation` is "log" or "scaling"."""
    model = _of_hmmlearn(case.start, implementation)
    rows = case.x.reshape(SEQUENCES * LENGTH, -1).numpy()
    begin = time.process_time()
    model.fit(rows, [LENGTH] * SEQUENCES)
    return time.process_time() - begin, model.monitor_.history[-1]


def _of_hmmlearn(start: HMM, implementation: str) -> Any:
    """Return hmmlearn's model with the parameters of a model to start from."""
    from hmmlearn import hmm

    logging.getLogger("hmmlearn").setLevel(logging.ERROR)  # it warns that parameters are set already
    options = {"init_params": "", "n_iter": STEPS, "tol": -math.inf, "implementation": implementation}
    emission, z = start.emission, start.states
    if isinstance(emission, Gaussian):
        form = "full" if emission.covariances.dim() == 3 else "diag"
        model = hmm.GaussianHMM(z, form, covars_prior=0.0, covars_weight=0.0, **options)
        model.means_, model.covars_ = emission.means.numpy(), emission.covariances.numpy()
    elif isinstance(emission, Poisson):
        model = hmm.PoissonHMM(z, **options)
        model.lambdas_ = emission.rates.numpy()
    else:
        model = hmm.CategoricalHMM(z, **options)
        model.emissionprob_ = start.emission.table().exp().mT.numpy()
    model.startprob_, model.transmat_ = start.initial.softmax(0).numpy(), start.transition.dense().numpy()
    return model


def by_dynamax(case: Case) -> Timed:
    """Time the steps of dynamax as the difference of two fits, which removes the time to compile.

    The longer fit has ten times as many steps, and one more. No log-probability is returned, because that of
    dynamax includes its priors.
    """
    import jax
    from dynamax import hidden_markov_model as models

    jax.config.update("jax_enable_x64", True)
    start, emission = case.start, case.start.emission
    chain = {
        "initial_probs": jax.numpy.asarray(start.initial.softmax(0).numpy()),
        "transition_matrix": jax.numpy.asarray(start.transition.dense().numpy()),
    }
    x = jax.numpy.asarray(case.x.numpy())
    if isinstance(emission, Gaussian):
        means, covariances = (jax.numpy.asarray(part.numpy()) for part in emission.parameters)
        if covariances.ndim == 3:
            model = models.GaussianHMM(start.states, means.shape[1], emission_prior_concentration=1e-6)
            chain |= {"emission_means": means, "emission_covariances": covariances}
        else:
            model = models.DiagonalGaussianHMM(start.states, means.shape[1])
            chain |= {"emission_means": means, "emission_scale_diags": covariances**0.5}
    elif isinstance(emission, Poisson):
        model = models.PoissonHMM(start.states, 1)
        chain |= {"emission_rates": jax.numpy.asarray(emission.rates.numpy())}
    else:
        model = models.CategoricalHMM(start.states, 1, 50)
        chain |= {"emission_probs": jax.numpy.asarray(emission.table().exp().mT.numpy())[:, None]}
        x = x[..., None]
    params, properties = model.initialize(jax.random.PRNGKey(0), **chain)
    seconds = []
    for steps in (1, 10 * STEPS + 1):
        begin = time.process_time()
        _, log_probs = model.fit_em(params, properties, x, num_iters=steps, verbose=False)
        float(log_probs[-1])  # waits for the result, which is computed asynchronously
        seconds.append(time.process_time() - begin)
    return (seconds[1] - seconds[0]) / 10, math.nan


CONTESTANTS: dict[str, Callable[[Case], Timed]] = {
    "strukt": by_strukt,
    "hmmlearn, log": partial(by_hmmlearn, "log"),
    "hmmlearn, scaling": partial(by_hmmlearn, "scaling"),
    "dynamax": by_dynamax,
}


def rows(case: Case) -> Iterator[list[str]]:
    """Yield a row for each library, with its fastest round; the libraries take turns."""
    by_strukt(case)  # compiles
    results: dict[str, list[Timed]] = {name: [] for name in CONTESTANTS}
    for _ in range(ROUNDS):
        for name, fit in CONTESTANTS.items():
            results[name].append(fit(case))
            print(case.name, name, results[name][-1], file=sys.stderr, flush=True)
    fastest = {name: min(seconds for seconds, _ in each) for name, each in results.items()}
    for name, each in results.items():
        ratio = fastest[name] / fastest["strukt"]
        log_prob = "-" if math.isnan(each[-1][1]) else f"{each[-1][1]:,.3f}"
        first = case.name if name == "strukt" else ""
        yield [first, name, f"{1e3 * fastest[name] / STEPS:.1f}", f"{ratio:.1f}", log_prob]


def report() -> str:
    """Return one table for all cases, and the versions of the peers."""
    header = ["model", "library", "one step, ms", "in steps of strukt", "log-probability, nats"]
    peers = ", ".join(f"{name} {version(name)}" for name in ("hmmlearn", "dynamax"))
    return f"{peers}\n\n{table(header, (row for case in cases() for row in rows(case)))}"


if __name__ == "__main__":
    section_command("hidden_markov_fits", "hmm-fits", __doc__, report)
