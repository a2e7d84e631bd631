"""Sparse alternatives to softmax along any axis: sparsemax, entmax, normmax, fusedmax, relaxed subsets.

Examples:
    >>> import torch
    >>> from strukt.mappings import entmax, sparsemax
    >>> x = torch.tensor([1.0, 0.8, -1.0])
    >>> torch.equal(sparsemax(x), entmax(x, 2.0))
    True
"""

from strukt.mappings.attention import scaled_dot_product_attention
from strukt.mappings.fusedmax_oscarmax import fusedmax, oscarmax
from strukt.mappings.ksubset_budget import budget, ksubset
from strukt.mappings.sparsemax_entmax import entmax, entmax15, normmax, sparsemax

__all__ = [
    "budget",
    "entmax",
    "entmax15",
    "fusedmax",
    "ksubset",
    "normmax",
    "oscarmax",
    "scaled_dot_product_attention",
    "sparsemax",
]
