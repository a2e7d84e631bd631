"""The linear system of SparseMAP's derivative: the response of the weights to the scores of the structures."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from strukt.kernels.arrays import Array
from strukt.kernels.jit import kernel, over_batch, thread_count

DEPENDENT = 1e-5
"""The pivot of a Cholesky factor (diagonal entry) below which structures count as affinely dependent."""


def response(parts: Array, counts: Array, sizes: Array, d: int) -> Tensor:
    """Return the Jacobian of weights with respect to scores of structures: ``(batch, k, k)``, padded with 0.

    The weights w maximise s'w - w'G w / 2 and sum to one, where s are the scores and G is the Gram matrix of the
    structures. The Jacobian is the inverse of G on changes that sum to zero (Niculae et al. 2018, equation 9). It
    is symmetric and constant on the face.

    Args:
        parts: ``(batch, k, p)``, the part indices of each structure.
        counts: ``(batch, k)``, the number of parts of each structure.
        sizes: ``(batch,)``, the number of structures, at least 1.
        d: The total number of parts.
    """
    batch, k, _ = parts.shape
    products = np.zeros((batch, k, k))
    threads = thread_count(batch, parts.size * k)
    over_batch(_multiply, threads, parts, counts, sizes, d, products)
    used = (torch.arange(k) < torch.from_numpy(sizes)[:, None]).double()
    both = used.unsqueeze(-1) * used.unsqueeze(-2)
    raised = torch.from_numpy(products) + both + torch.diag_embed(1.0 - used)
    inverse = _inverse(raised)
    ones = (inverse @ used.unsqueeze(-1)).squeeze(-1)
    moved: Tensor = inverse - ones.unsqueeze(-1) * ones.unsqueeze(-2) / ones.sum(-1)[:, None, None]
    return moved * both


def _inverse(matrices: Tensor) -> Tensor:
    """Return the inverses of matrices ``(batch, k, k)``.

    If the structures of some item are affinely dependent, as they may be after conditional gradients, return the
    pseudo-inverses of all items.
    """
    factors, _ = torch.linalg.cholesky_ex(matrices)
    if bool((factors.diagonal(dim1=-2, dim2=-1) > DEPENDENT).all()):
        return torch.cholesky_inverse(factors)
    result: Tensor = torch.linalg.pinv(matrices, hermitian=True)
    return result


@kernel
def _multiply(
    parts: Array, counts: Array, sizes: Array, d: int, products: Array, start: int, step: int
) -> None:
    """Write the number of parts that each two structures of an item have in common.

    Arrays: ``parts (batch, k, p)``, ``counts (batch, k)``, ``sizes (batch,)`` and ``products (batch, k, k)``; d is
    the number of parts.
    """
    marks = np.zeros(d, np.bool_)
    for b in range(start, sizes.shape[0], step):
        for i in range(sizes[b]):
            for a in range(counts[b, i]):
                marks[parts[b, i, a]] = True
            for j in range(i + 1):
                common = 0
                for a in range(counts[b, j]):
                    common += int(marks[parts[b, j, a]])
                products[b, i, j] = products[b, j, i] = common
            for a in range(counts[b, i]):
                marks[parts[b, i, a]] = False
