"""Batches of multivariate normal distributions: densities, and parameters from weighted moments.

Means are ``(*k, d)``. Covariances are variances ``(*k, d)`` of independent dimensions, or matrices ``(*k, d, d)``.
Any axis of the covariances may have size 1 if all distributions, or all dimensions of variances, share a value.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, distributions

from strukt.structures.hmm.priors import GaussianPrior, fitting

PIECE = 1 << 16
"""The number of entries of a table of vectors relative to means: larger tables take twice as long per entry."""

FLOOR = 1e-6
"""The least variance in any direction, relative to that of all observations: no state can collapse onto one."""


def are_full(means: Tensor, covariances: Tensor) -> bool:
    """Return True if covariances are matrices; False if they are variances."""
    return covariances.dim() > means.dim()


def require_shapes(means: Tensor, covariances: Tensor, axes: str) -> None:
    """Raise ValueError unless covariances are variances or matrices that broadcast to means ``(*k, d)``."""
    lead, d = means.shape[:-1], means.shape[-1]
    diagonal, full = axes, f"{axes[:-1]}, d)"
    if covariances.dim() == means.dim():
        allowed = covariances.shape[-1] in (1, d)
    else:
        allowed = covariances.dim() == means.dim() + 1 and covariances.shape[-2:] == (d, d)
    shared = zip(covariances.shape, lead, strict=False)
    if not allowed or not means.numel() or any(size not in (1, whole) for size, whole in shared):
        raise ValueError(
            f"the shapes do not fit together: means {tuple(means.shape)}, covariances "
            f"{tuple(covariances.shape)}; expected {axes}, and {diagonal} for variances or {full} for matrices, "
            "with 1 for an axis that is shared"
        )


def require_values(means: Tensor, covariances: Tensor) -> None:
    """Raise ValueError unless means are finite, and variances positive or matrices symmetric positive definite."""
    if not bool(means.isfinite().all()):
        raise ValueError(f"means holds {means[~means.isfinite()][0].item()}; expected finite numbers")
    if not are_full(means, covariances):
        wrong = ~((covariances > 0) & covariances.isfinite())
        if bool(wrong.any()):
            place = tuple(wrong.nonzero()[0].tolist())
            raise ValueError(
                f"covariances holds the variance {covariances[place].item()} at {place}; "
                "expected finite numbers above 0"
            )
        return
    scale = covariances.detach().abs().amax((-2, -1), keepdim=True)
    failed = torch.linalg.cholesky_ex(covariances.detach()).info != 0
    uneven = ((covariances - covariances.mT).abs() > 1e-4 * scale).any(-1).any(-1)
    wrong = failed | uneven | ~covariances.isfinite().all(-1).all(-1)
    if bool(wrong.any()):
        raise ValueError(
            f"the matrix of covariances at {tuple(wrong.nonzero()[0].tolist())} is not symmetric and positive "
            "definite; build it from a factor, factor @ factor.mT, or add a little to its diagonal"
        )


def log_densities(x: Tensor, means: Tensor, covariances: Tensor) -> Tensor:
    """Return the log-densities ``(t, *k)`` of vectors ``(t, d)``: O(t k d), or O(t k d^2) for matrices.

    A few distributions are computed at a time, so that no table of all vectors relative to all means is needed.
    """
    lead, d = means.shape[:-1], means.shape[-1]
    whiten, log_scale = whitening(means, covariances)
    centres = means.reshape(-1, d)
    size = max(PIECE // max(x.numel(), 1), 1)
    columns = x.mT.contiguous()  # a sum over few dimensions is slow along the last axis
    distances = []
    for some, matrices in zip(torch.split(centres, size), torch.split(whiten, size), strict=True):
        centred = columns - some.unsqueeze(2)
        white = matrices @ centred if matrices.dim() == 3 else centred * matrices.unsqueeze(2)
        distances.append(white.square().sum(1))
    constant = log_scale - 0.5 * d * math.log(2 * math.pi)
    return (constant - 0.5 * torch.cat(distances).mT).contiguous().reshape(len(x), *lead)


def whitening(means: Tensor, covariances: Tensor) -> tuple[Tensor, Tensor]:
    """Return the matrices that whiten vectors around each mean, and their log-determinants.

    Returns:
        Inverse standard deviations ``(k, d)``, or inverse Cholesky factors ``(k, d, d)``, with all axes ``*k``
        flattened; and their log-determinants ``(k,)``.
    """
    d, count = means.shape[-1], means.shape[:-1].numel()
    if not are_full(means, covariances):
        scales = covariances.rsqrt().expand(means.shape).reshape(count, d)
        return scales, scales.log().sum(-1)
    eye = torch.eye(d, dtype=means.dtype, device=means.device).expand(covariances.shape)
    inverse = torch.linalg.solve_triangular(torch.linalg.cholesky(covariances), eye, upper=False)
    inverse = inverse.expand(*means.shape, d).reshape(count, d, d)
    return inverse, inverse.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def moments(x: Tensor, weights: Tensor, centre: Tensor, full: bool) -> Tensor:
    """Return weighted sums over vectors relative to a centre, in double precision.

    Args:
        x: ``(t, d)``, the vectors.
        weights: ``(t, *k)``, the weight of each vector for each distribution.
        centre: ``(d,)``, a point near the means, so that squares lose little precision.
        full: Whether to include products of different dimensions.

    Returns:
        ``(*k, 3, d)``: the sums of weights, of vectors, and of their squares. If ``full``, ``(*k, d + 1, d + 1)``:
        the sums of the outer products of (1, vector) with itself.
    """
    lead = weights.shape[1:]
    weights, x = weights.flatten(1).double(), (x - centre).double()
    if not full:
        sums = [weights.mT @ power for power in (torch.ones_like(x), x, x.square())]
        return torch.stack(sums, 1).reshape(*lead, 3, x.shape[1])
    x = torch.cat([torch.ones_like(x[:, :1]), x], 1)
    size = max(PIECE // max(x.numel(), 1), 1)
    sums = [(some.mT.unsqueeze(2) * x).mT @ x for some in torch.split(weights, size, 1)]
    return torch.cat(sums).reshape(*lead, x.shape[1], x.shape[1])


def totals(sums: Tensor, full: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Split `moments` into the sums of weights ``(*k,)``, of vectors ``(*k, d)``, and of squares or products."""
    if full:
        return sums[..., 0, 0], sums[..., 0, 1:], sums[..., 1:, 1:]
    return sums[..., 0, 0], sums[..., 1, :], sums[..., 2, :]


def maximised(
    sums: Tensor, means: Tensor, covariances: Tensor, centre: Tensor, prior: GaussianPrior
) -> tuple[Tensor, Tensor]:
    """Return the means and covariances of the highest density, given the `moments` ``sums`` and a prior.

    Those with neither weight nor a prior stay unchanged.
    """
    full = are_full(means, covariances)
    weights, vectors, squares = totals(sums, full)
    strength = fitting("mean_weight", prior.mean_weight, sums, weights.shape).expand(weights.shape)
    expected = (fitting("mean", prior.mean, sums, means.shape) - centre.double()).expand(vectors.shape)
    whole = (strength + weights).unsqueeze(-1)
    old = (means - centre).double()
    mean = torch.where(whole > 0, (strength.unsqueeze(-1) * expected + vectors) / _or_one(whole), old)

    def pair(a: Tensor, b: Tensor) -> Tensor:
        return a.unsqueeze(-1) * b.unsqueeze(-2) if full else a * b

    away = mean - expected
    scatter = squares - pair(mean, vectors) - pair(vectors, mean) + _like(weights, squares) * pair(mean, mean)
    scatter = scatter + _like(strength, squares) * pair(away, away)
    lead = covariances.shape[: weights.dim()]
    scatter = scatter.sum_to_size(*lead, *squares.shape[weights.dim() :]) + _prior_scatter(
        prior, means, covariances
    )
    count = weights.sum_to_size(lead) + fitting("scatter_weight", prior.scatter_weight, sums, lead)
    covariance = scatter / _like(_or_one(count), scatter)
    if not full:
        covariance = covariance.mean(-1, keepdim=True) if covariances.shape[-1] == 1 else covariance
    covariance = _floored(covariance, _variance(weights, vectors, squares, full), full)
    covariance = torch.where(_like(count, covariance) > 0, covariance, covariances.double())
    return torch.where(whole > 0, (mean + centre).to(means.dtype), means), covariance.to(means.dtype)


def log_prior(means: Tensor, covariances: Tensor, prior: GaussianPrior) -> Tensor:
    """Return the log-density of the parameters under a prior, up to a constant: ``()``."""
    d, lead = means.shape[-1], covariances.shape[: means.dim() - 1]
    full = are_full(means, covariances)
    whiten, log_scale = whitening(means[tuple(slice(size) for size in lead)], covariances)
    scatter = _prior_scatter(prior, means, covariances).to(means.dtype)
    if full:
        trace = ((whiten @ scatter.reshape(-1, d, d)) * whiten).sum()
    else:
        trace = (whiten.square() * scatter.reshape(-1, d)).sum()
    counts = fitting("scatter_weight", prior.scatter_weight, means, lead).expand(lead).reshape(-1)
    away = means - fitting("mean", prior.mean, means, means.shape)
    every = whitening(means, covariances)[0].reshape(*means.shape, *([d] if full else []))
    white = (every @ away.unsqueeze(-1)).squeeze(-1) if full else every * away
    strength = fitting("mean_weight", prior.mean_weight, means, means.shape[:-1])
    pull = (strength * white.square().sum(-1)).sum()
    density: Tensor = (counts * log_scale).sum() - 0.5 * (trace + pull)
    return density


def as_distributions(means: Tensor, covariances: Tensor) -> distributions.Distribution:
    """Return the distributions as one of `torch.distributions`, with batch shape ``(*k,)``."""
    if are_full(means, covariances):
        factors = torch.linalg.cholesky(covariances).expand(*means.shape, -1)
        return distributions.MultivariateNormal(means, scale_tril=factors, validate_args=False)
    normal = distributions.Normal(means, covariances.sqrt().expand(means.shape), validate_args=False)
    return distributions.Independent(normal, 1, validate_args=False)


def of_states(covariances: Tensor, states: Tensor) -> Tensor:
    """Return the covariances of states ``(m,)``; those that all states share are unchanged."""
    return covariances if len(covariances) == 1 else covariances[states]


def overall(x: Tensor, means: Tensor, covariances: Tensor) -> Tensor:
    """Return the covariance of all vectors ``(t, d)``, for each distribution, in the shape of ``covariances``."""
    full = are_full(means, covariances)
    everything = x.new_ones(len(x), *(1 for _ in means.shape[:-1]))
    centre = x.mean(0)
    sums = moments(x, everything, centre, full)
    one = tuple(1 for _ in means.shape[:-1])
    start = torch.ones((*one, *covariances.shape[means.dim() - 1 :]), dtype=means.dtype, device=means.device)
    _, covariance = maximised(sums, centre.to(means.dtype).view(*one, -1), start, centre, GaussianPrior())
    return covariance.expand(covariances.shape).clone()


def free_numbers(means: Tensor, covariances: Tensor) -> int:
    """Return the number of free parameters of means and covariances; matrices are symmetric."""
    if not are_full(means, covariances):
        return means.numel() + covariances.numel()
    d = means.shape[-1]
    return means.numel() + covariances.shape[:-2].numel() * d * (d + 1) // 2


def unconstrained(means: Tensor, covariances: Tensor) -> Tensor:
    """Return unconstrained covariances: logs of variances, or Cholesky factors with logs on the diagonal."""
    if not are_full(means, covariances):
        return covariances.log()
    factor: Tensor = torch.linalg.cholesky(covariances)
    return factor.tril(-1) + factor.diagonal(dim1=-2, dim2=-1).log().diag_embed()


def constrained(means: Tensor, numbers: Tensor) -> Tensor:
    """Return the covariances with given unconstrained numbers: the inverse of `unconstrained`."""
    if not are_full(means, numbers):
        return numbers.exp()
    factor = numbers.tril(-1) + numbers.diagonal(dim1=-2, dim2=-1).exp().diag_embed()
    return factor @ factor.mT


def _variance(weights: Tensor, vectors: Tensor, squares: Tensor, full: bool) -> Tensor:
    """Return the variance of all vectors in each dimension, ``(d,)``; 1 where all are equal."""
    axes = tuple(range(weights.dim()))
    if full:
        squares = squares.diagonal(dim1=-2, dim2=-1)
    count = _or_one(weights.sum())
    variance = squares.sum(axes) / count - (vectors.sum(axes) / count).square()
    return torch.where(variance > 0, variance, 1.0)


def _floored(covariance: Tensor, variance: Tensor, full: bool) -> Tensor:
    """Raise covariances to at least `FLOOR` times the ``variance (d,)`` of all vectors, in each direction."""
    if not full:
        least = variance.mean() if covariance.shape[-1] == 1 else variance
        return torch.maximum(covariance, FLOOR * least)
    scale = variance.sqrt()
    scale = scale.unsqueeze(1) * scale
    covariance = (covariance + covariance.mT) / 2
    values, directions = torch.linalg.eigh(covariance / scale)
    raised = (directions * values.clamp(min=FLOOR).unsqueeze(-2)) @ directions.mT * scale
    return torch.where((values[..., :1] < FLOOR).unsqueeze(-1), raised, covariance)


def _prior_scatter(prior: GaussianPrior, means: Tensor, covariances: Tensor) -> Tensor:
    """Return the prior's scatter for each covariance, ``(*lead, d)`` or ``(*lead, d, d)``, in double precision."""
    d, lead = means.shape[-1], covariances.shape[: means.dim() - 1]
    full = are_full(means, covariances)
    scatter = fitting("scatter", prior.scatter, means, (*lead, *([d, d] if full else [d]))).double()
    if not full:
        return scatter.expand(*lead, d)
    matrix = (
        scatter * torch.eye(d, dtype=scatter.dtype, device=scatter.device) if not scatter.dim() else scatter
    )
    return matrix.expand(*lead, d, d)


def _like(value: Tensor, other: Tensor) -> Tensor:
    """Return a tensor ``(*k,)`` with axes of size 1 appended, up to as many axes as ``other``."""
    return value.reshape(*value.shape, *(1 for _ in range(other.dim() - value.dim())))


def _or_one(value: Tensor) -> Tensor:
    """Return divisors with 1 in place of those that are 0 or less."""
    return torch.where(value > 0, value, 1.0)
