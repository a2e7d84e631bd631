"""Autograd functions that make the marginals of LP-SparseMAP differentiable."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from strukt.kernels.arrays import Array
from strukt.kernels.jit import over_batch, thread_count
from strukt.kernels.lp_sparsemap.run import project_onto_faces
from strukt.kernels.lp_sparsemap.state import Faces, Graph


class Projection:
    """The symmetric projection Pi of moves onto the directions that all faces of a graph share, for a batch."""

    def __init__(self, graph: Graph, faces: Faces, free: Array) -> None:
        """Store the faces, batch first, and the mask of variables that can move, ``(batch, V)``, 0.0 or 1.0."""
        self._graph, self._faces, self._free = graph, faces, free

    def __call__(self, direction: Tensor) -> Tensor:
        """Project moves ``(batch, V)``."""
        directions = direction.detach().double().cpu().contiguous().numpy()
        result = np.zeros_like(directions)
        threads = thread_count(len(directions), 100 * self._faces.labels.size)
        over_batch(project_onto_faces, threads, self._graph, self._faces, self._free, directions, result)
        return torch.from_numpy(result).to(direction.device, direction.dtype)


def attach(moved: Tensor, marginals: Tensor, projection: Projection) -> Tensor:
    """Return the marginals as a function of ``moved``, whose derivative is the projection.

    All tensors are ``(batch, V)``. The result is differentiable any number of times; derivatives of the marginals
    themselves are cut off.
    """
    return _Marginals.apply(moved, marginals, projection)  # type: ignore[no-any-return, no-untyped-call]


def _one_by_one(
    function: Any, info: Any, in_dims: tuple[Any, ...], arguments: tuple[Any, ...]
) -> tuple[Tensor, int]:
    """Apply the vmap rule of the functions below: slice by slice, since the faces belong to one batch."""
    slices = [
        [
            value if axis is None else value.select(axis, i)
            for value, axis in zip(arguments, in_dims, strict=True)
        ]
        for i in range(info.batch_size)
    ]
    return torch.stack([function.apply(*tensors) for tensors in slices]), 0


class _Marginals(torch.autograd.Function):
    """Autograd function of precomputed marginals: Pi is their derivative with respect to ``moved``."""

    @staticmethod
    def forward(moved: Tensor, marginals: Tensor, projection: Projection) -> Tensor:
        return marginals.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        ctx.projection = inputs[2]

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return _Project.apply(grads[0], ctx.projection), None, None  # type: ignore[no-untyped-call]

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        return _Project.apply(tangents[0], ctx.projection)  # type: ignore[no-untyped-call]

    @staticmethod
    def vmap(info: Any, in_dims: Any, *arguments: Any) -> Any:
        return _one_by_one(_Marginals, info, in_dims, arguments)


class _Project(torch.autograd.Function):
    """Autograd function of Pi, which is linear and symmetric, and so its own derivative."""

    @staticmethod
    def forward(direction: Tensor, projection: Projection) -> Tensor:
        return projection(direction)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        ctx.projection = inputs[1]

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return _Project.apply(grads[0], ctx.projection), None  # type: ignore[no-untyped-call]

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        return _Project.apply(tangents[0], ctx.projection)  # type: ignore[no-untyped-call]

    @staticmethod
    def vmap(info: Any, in_dims: Any, *arguments: Any) -> Any:
        return _one_by_one(_Project, info, in_dims, arguments)
