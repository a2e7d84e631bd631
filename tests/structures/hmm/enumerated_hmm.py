"""Small hidden Markov models, and what enumeration of all state sequences says of them."""

import itertools

import torch
from tests.scores import normal
from torch import Tensor, distributions

from strukt.distributions import HMM, Banded, Categorical, Dense, Gaussian, GaussianMixture, LowRank, Poisson
from strukt.structures.hmm.transitions import Transition

KINDS = ("dense", "low rank", "band", "low rank and band")


def transition_parameters(kind: str, z: int = 3, r: int = 2, w: int = 1, seed: int = 7) -> list[Tensor]:
    if kind == "dense":
        return [normal(z, z, seed=seed)]
    band = normal(z, 2 * w + 1, seed=seed + 2)
    low_rank = [normal(z, r, seed=seed), normal(z, r, seed=seed + 1)]
    return {"low rank": low_rank, "band": [band], "low rank and band": [*low_rank, band]}[kind]


def transition_of(kind: str, parameters: list[Tensor]) -> Transition:
    operator = {"dense": Dense, "band": Banded}.get(kind, LowRank)
    return operator(*parameters)


def model(kind: str, z: int = 3, v: int = 4, seed: int = 0, **options: object) -> HMM:
    transition = transition_of(kind, transition_parameters(kind, z, seed=seed + 7))
    return HMM(normal(z, seed=seed), transition, normal(z, v, seed=seed + 1), **options)


def words(*shape: int, v: int = 4, seed: int = 0) -> Tensor:
    return torch.randint(v, shape, generator=torch.Generator().manual_seed(seed))


def matrix_of(hmm: HMM) -> Tensor:
    """The transition matrix, from the definition of each operator."""
    operator = hmm.transition
    if isinstance(operator, Dense):
        return operator.logits.softmax(1)
    z = operator.states
    weights = torch.zeros(z, z, dtype=operator.dtype)
    if isinstance(operator, LowRank):
        weights = weights + (operator.source.exp() @ operator.target.exp().mT)
    band = operator.logits if isinstance(operator, Banded) else operator.band
    if band is not None:
        w = band.shape[1] // 2
        rows = []
        for i in range(z):
            near = [band[i, j - i + w].exp() if abs(j - i) <= w else band.new_zeros(()) for j in range(z)]
            rows.append(torch.stack(near))
        weights = weights + torch.stack(rows)
    return weights / weights.sum(1, keepdim=True)


def scores_of(hmm: HMM, x: Tensor) -> Tensor:
    """The log-probability or density of each observation in each state ``(n, z)``, from the definitions."""
    emission = hmm.emission
    if isinstance(emission, Categorical):
        return emission.logits.log_softmax(1)[:, x].mT
    if isinstance(emission, Poisson):
        scores = distributions.Poisson(emission.rates, validate_args=False).log_prob(x.double().unsqueeze(1))
        return scores.sum(2) if emission.event_shape else scores
    if isinstance(emission, Gaussian):
        return normal_scores(x, emission.means, emission.covariances)
    assert isinstance(emission, GaussianMixture)
    z, m, _ = emission.means.shape
    whole = emission.covariances.expand(z, m, *emission.covariances.shape[2:])
    parts = [normal_scores(x, emission.means[:, part], whole[:, part]) for part in range(m)]
    return (torch.stack(parts, 2) + emission.logits.log_softmax(1)).logsumexp(2)


def normal_scores(x: Tensor, means: Tensor, covariances: Tensor) -> Tensor:
    if covariances.dim() == 2:
        covariances = covariances.expand(means.shape).diag_embed()
    return distributions.MultivariateNormal(means, covariances.expand(*means.shape, -1)).log_prob(
        x.unsqueeze(1)
    )


def joint(hmm: HMM, x: Tensor) -> tuple[Tensor, Tensor]:
    """All state sequences for one sentence ``(count, n)``, and their log-probabilities with it ``(count,)``."""
    z, n = len(hmm.initial), len(x)
    first, matrix, emission = hmm.initial.log_softmax(0), matrix_of(hmm).log(), scores_of(hmm, x)
    sequences = torch.tensor(list(itertools.product(range(z), repeat=n)), dtype=torch.int64).reshape(z**n, n)
    scores = torch.zeros(len(sequences), dtype=hmm.initial.dtype)
    for t in range(n):
        came = first[sequences[:, 0]] if t == 0 else matrix[sequences[:, t - 1], sequences[:, t]]
        scores = scores + came + emission[t, sequences[:, t]]
    return sequences, scores


def log_prob(hmm: HMM, x: Tensor) -> Tensor:
    return joint(hmm, x)[1].logsumexp(0)


def posterior(hmm: HMM, x: Tensor) -> Tensor:
    """The probability of each state at each place given all words of one sentence: ``(n, z)``."""
    sequences, scores = joint(hmm, x)
    states = torch.nn.functional.one_hot(sequences, len(hmm.initial)).to(scores.dtype)
    return (scores.softmax(0)[:, None, None] * states).sum(0)


VECTORS = (
    "diagonal",
    "spherical",
    "tied variances",
    "full",
    "tied",
    "mixture",
    "full mixture",
    "tied mixture",
    "counts",
    "rows of counts",
)
"""Emissions of vectors, of two dimensions but for the counts."""


def covariances_of(kind: str, *lead: int, seed: int = 3) -> Tensor:
    """Covariances of the form that the kind says."""
    if "tied" in kind:
        lead = (1, *lead[1:])
    if "full" in kind or kind in ("tied", "tied mixture"):
        factor = normal(*lead, 2, 2, seed=seed)
        return factor @ factor.mT + 0.1 * torch.eye(2, dtype=torch.float64)
    return normal(*lead, 1 if kind == "spherical" else 2, seed=seed).exp()


def emission_of(kind: str, z: int = 3, seed: int = 0) -> Gaussian | GaussianMixture | Poisson:
    if kind == "counts":
        return Poisson(3 * normal(z, seed=seed).exp())
    if kind == "rows of counts":
        return Poisson(3 * normal(z, 2, seed=seed).exp())
    if "mixture" in kind:
        return GaussianMixture(
            normal(z, 2, seed=seed),
            2 * normal(z, 2, 2, seed=seed + 1),
            covariances_of(kind, z, 2, seed=seed + 2),
        )
    return Gaussian(2 * normal(z, 2, seed=seed), covariances_of(kind, z, seed=seed + 1))


def model_of_vectors(
    kind: str, z: int = 3, seed: int = 0, transition: str = "dense", **options: object
) -> HMM:
    operator = transition_of(transition, transition_parameters(transition, z, seed=seed + 7))
    return HMM(normal(z, seed=seed), operator, emission_of(kind, z, seed=seed + 20), **options)


def observations(hmm: HMM, *shape: int, seed: int = 0) -> Tensor:
    """Observations ``(*shape, *event)`` that the model might draw, and others."""
    shape = (*shape, *hmm.emission.event_shape)
    if isinstance(hmm.emission, Poisson):
        return torch.randint(9, shape, generator=torch.Generator().manual_seed(seed))
    return 3 * normal(*shape, seed=seed)
