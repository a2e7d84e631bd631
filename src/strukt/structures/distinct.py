"""Sampling without replacement from a distribution."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.checks import arguments, guards
from strukt.inference.without_replacement import sample_without_replacement
from strukt.kernels.semiring import NEG_INF
from strukt.structures.exact import ExactInference


def sample(distribution: ExactInference, k: int) -> Tensor:
    """Draw k distinct structures of each item; see `StructuredDistribution.sample_without_replacement`."""
    flat = distribution._flatten()

    def draw(required: Tensor, forbidden: Tensor) -> Tensor:
        """Draw a structure of each item; if an item has no structures left, draw from all its structures."""
        some = flat.condition(required, forbidden)
        exhausted = some.log_partition == NEG_INF
        scores = (
            torch.where(exhausted.reshape(-1, *(1,) * (score.dim() - 1)), whole, score)
            if len(score) == len(exhausted)
            else score
            for whole, score in zip(flat.scores, some.scores, strict=True)
        )
        return flat._with_scores(*scores).sample()

    guards.require_feasible(*distribution._best())
    result = sample_without_replacement(
        k,
        flat.scores[0].shape,
        lambda required, forbidden: flat.condition(required, forbidden).log_partition,
        draw,
        flat.to_parts,
        flat._distinguishing_parts,
        flat.scores[0].device,
    )
    return arguments.several(distribution._to_batch(result), len(distribution.batch_shape))
