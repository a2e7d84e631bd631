"""Events on GPUs: one launch for each function; see `strukt.structures.events`.

In PyTorch, the checks of the events of a training step would need 26 to 300 launches. Functions without a kernel
here are computed by the reference.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from strukt.kernels.engine.gpu.launching import device_of, launcher
from strukt.structures.events import gpu_paths, gpu_sequences, gpu_trees
from strukt.structures.events.reference import (  # noqa: F401
    are_spanning_trees,
    are_subsets,
    edge_places,
    item_places,
)

LONGEST = 1 << 14
"""The largest size of the last axis, which a program keeps in its registers."""

BLOCK = 256
"""The number of entries that a program reads at once where it does not keep a whole axis."""


def fits(events: Tensor) -> bool:
    """Return True if there are any events, and the last axis is not too long; see `strukt.kernels.dispatch`."""
    return events.numel() > 0 and events.shape[-1] <= LONGEST


def in_range(named: Tensor, lengths: Tensor, count: int) -> Tensor:
    are_valid = _mask(named)
    _launch(gpu_sequences.in_range, named, lengths, are_valid, named.shape[1], count, B=_block(named))
    return are_valid


def alternative_places(named: Tensor, lengths: Tensor, count: int) -> Tensor:
    places = torch.empty_like(named, memory_format=torch.contiguous_format)
    _launch(gpu_sequences.alternative_places, named, lengths, places, named.shape[1], count, B=_block(named))
    return places


def tag_places(tags: Tensor, lengths: Tensor, count: int, per_step: bool) -> tuple[Tensor, Tensor]:
    rows, n = tags.shape
    places, pairs = tags.new_empty(rows, n), tags.new_empty(rows, n - 1)
    each = count * count if per_step else 0
    _launch(gpu_sequences.tag_places, tags, lengths, places, pairs, n, count, each, B=_block(tags))
    return places, pairs


def are_frames(
    labels: Tensor, lengths: Tensor, states: Tensor, target_lengths: Tensor, blank: int, count: int
) -> Tensor:
    are_valid, sizes = _mask(labels), (labels.shape[1], states.shape[1], blank, count)
    _launch(gpu_sequences.are_frames, labels, lengths, states, target_lengths, are_valid, *sizes, B=_block(labels))
    return are_valid


def are_segmentations(labels: Tensor, lengths: Tensor, longest: int, count: int) -> Tensor:
    are_valid, n = _mask(labels), labels.shape[1]
    _launch(gpu_sequences.are_segmentations, labels, lengths, are_valid, n, longest, count, B=_block(labels))
    return are_valid


def segment_places(
    labels: Tensor, lengths: Tensor, longest: int, count: int, pairs: int, per_position: bool
) -> tuple[Tensor, Tensor]:
    places, onward = (torch.empty_like(labels, memory_format=torch.contiguous_format) for _ in range(2))
    sizes = (labels.shape[1], longest, count, pairs, pairs * pairs if per_position else 0)
    _launch(gpu_sequences.segment_places, labels, lengths, places, onward, *sizes, B=_block(labels))
    return places, onward


def are_dependency_trees(heads: Tensor, lengths: Tensor, single_root: bool, projective: bool) -> Tensor:
    are_valid, n = _mask(heads), heads.shape[1]
    kernel = gpu_trees.are_dependency_trees
    _launch(kernel, heads, lengths, are_valid, n, SINGLE=single_root, PROJECTIVE=projective, B=_block(heads))
    return are_valid


def read_spans(labels: Tensor, lengths: Tensor, words: range, wider: range) -> tuple[Tensor, Tensor, Tensor]:
    rows, size = labels.shape[:2]
    capacity = 2 * size - 2
    places, span_labels = labels.new_empty(rows, capacity), labels.new_empty(rows, capacity)
    are_valid, ranges = _mask(labels), (words.start, words.stop, wider.start, wider.stop)
    _launch(
        gpu_trees.read_spans, labels, lengths, *ranges, places, span_labels, are_valid, size, capacity,
        B=_block(labels),
    )  # fmt: skip
    return places, span_labels, are_valid


def bit_places(spans: Tensor, codes: Tensor, bits: int) -> tuple[Tensor, Tensor]:
    rows, count = spans.shape
    positive, negative = spans.new_empty(rows, count * bits), spans.new_empty(rows, count * bits)
    inputs, total = (spans.contiguous(), codes.contiguous()), rows * count * bits
    with device_of(spans):
        grid = (-(-total // BLOCK),)
        launcher(gpu_trees.bit_places, grid)(*inputs, positive, negative, total, bits, BLOCK)
    return positive, negative


def are_paths(moves: Tensor, lengths: Tensor, target_lengths: Tensor) -> Tensor:
    are_valid = _mask(moves)
    _launch(gpu_paths.are_paths, moves, lengths, target_lengths, are_valid, *moves.shape[1:], B=BLOCK)
    return are_valid


def path_places(moves: Tensor, lengths: Tensor, target_lengths: Tensor) -> tuple[Tensor, Tensor]:
    rows, n, m = moves.shape
    capacity = n + m - 1
    entering, following = moves.new_empty(rows, capacity), moves.new_empty(rows, capacity)
    kernel = gpu_paths.path_places
    _launch(kernel, moves, lengths, target_lengths, entering, following, n, m, capacity, B=BLOCK)
    return entering, following


def _launch(kernel: Any, *arguments: Any, **constants: Any) -> None:
    """Launch a kernel with one program for each event, that is, for each row of the first tensor.

    ``constants`` are the kernel's constants, among them B, the size of its vectors.
    """
    tensors = (each.contiguous() if isinstance(each, Tensor) else each for each in arguments)
    with device_of(arguments[0]):
        launcher(kernel, (len(arguments[0]),))(*tensors, **constants, num_warps=1 if constants["B"] <= 256 else 4)


def _mask(events: Tensor) -> Tensor:
    """Allocate a mask ``(rows,)``, not initialised."""
    return torch.empty(len(events), dtype=torch.bool, device=events.device)


def _block(events: Tensor) -> int:
    """Return the smallest power of two, 2 or more, that is at least the size of the last axis."""
    return 1 << max(events.shape[-1] - 1, 1).bit_length()
