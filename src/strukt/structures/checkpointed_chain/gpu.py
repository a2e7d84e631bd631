"""Chains for long sequences on GPUs, by the kernels of the linear chain, which store all states: O(n c) memory."""

from strukt.structures.linear_chain.gpu import (
    ALTERNATIVES,
    any_scores,
    best,
    chart_shape,
    derivative,
    entropy,
    entropy_gradient,
    fits,
    inside,
    kbest,
    max_marginals,
    outside,
    sample,
    surprise,
    surprise_gradient,
)

__all__ = [
    "ALTERNATIVES",
    "any_scores",
    "best",
    "chart_shape",
    "derivative",
    "entropy",
    "entropy_gradient",
    "fits",
    "inside",
    "kbest",
    "max_marginals",
    "outside",
    "sample",
    "surprise",
    "surprise_gradient",
]
