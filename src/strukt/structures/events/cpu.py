"""Events on CPUs, by Numba kernels, or by NumPy where that is as fast; see `strukt.structures.events`."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from strukt.kernels.arrays import Array
from strukt.structures.events.cpu_paths import are_paths, path_places  # noqa: F401
from strukt.structures.events.cpu_segments import are_frames, are_segmentations, segment_places  # noqa: F401
from strukt.structures.events.cpu_sets import are_subsets, item_places  # noqa: F401
from strukt.structures.events.cpu_spans import bit_places, read_spans  # noqa: F401
from strukt.structures.events.cpu_trees import are_dependency_trees, are_spanning_trees, edge_places  # noqa: F401


def in_range(named: Tensor, lengths: Tensor, count: int) -> Tensor:
    array = named.numpy()
    wrong = _within(lengths, array.shape[-1]) & ((array < 0) | (array >= count))
    return torch.from_numpy(~wrong.any(-1))


def alternative_places(named: Tensor, lengths: Tensor, count: int) -> Tensor:
    array = named.numpy()
    n = array.shape[-1]
    places = np.minimum(np.maximum(array, 0), count - 1)
    places += np.arange(n) * count
    return _kept(places, _within(lengths, n))


def tag_places(tags: Tensor, lengths: Tensor, count: int, per_step: bool) -> tuple[Tensor, Tensor]:
    array = np.minimum(np.maximum(tags.numpy(), 0), count - 1)
    n = array.shape[-1]
    within = _within(lengths, n)
    pairs = array[..., :-1] * count
    pairs += array[..., 1:]
    if per_step:
        pairs += np.arange(max(n - 1, 0)) * (count * count)
    array += np.arange(n) * count
    return _kept(array, within), _kept(pairs, within[..., 1:])


def _within(lengths: Tensor, n: int) -> Array:
    """Return a mask ``(rows, n)`` of the positions within the lengths."""
    return np.arange(n) < lengths.numpy()[:, None]


def _kept(places: Array, within: Array) -> Tensor:
    """Set places where the mask ``within`` is False to -1, in place; return them as a tensor."""
    np.copyto(places, -1, where=~within)
    return torch.from_numpy(places)
