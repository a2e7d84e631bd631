"""Numba kernels that read binary trees over spans and the bits of their codes: see `strukt.structures.events`."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from strukt.kernels.arrays import Array
from strukt.kernels.jit import array_of, kernel
from strukt.structures.events.cpu_calls import places_of


def read_spans(labels: Tensor, lengths: Tensor, words: range, wider: range) -> tuple[Tensor, Tensor, Tensor]:
    rows, size = labels.shape[:2]
    places, result = np.full((rows, 2 * size - 2), -1), np.zeros((rows, 2 * size - 2), np.int64)
    are_trees = np.zeros(rows, np.bool_)
    ranges = (words.start, words.stop, wider.start, wider.stop)
    _read_spans(array_of(labels), array_of(lengths), ranges, places, result, are_trees)
    return torch.from_numpy(places), torch.from_numpy(result), torch.from_numpy(are_trees)


@kernel
def _read_spans(
    labels: Array, lengths: Array, ranges: tuple[int, int, int, int],
    places: Array, span_labels: Array, are_trees: Array,
) -> None:  # fmt: skip
    """Write the places of spans and their labels, and a mask of the rows that are trees with valid labels.

    A span of several words must have two children. Its left child is the widest of the narrower spans with the
    same start.

    Arrays: ``labels (rows, n + 1, n + 1)``, ``lengths`` and the result ``are_trees (rows,)``, and the results
    ``places`` and ``span_labels (rows, 2 n)``, whose entries after the last span are not written. ``ranges`` are
    the first label of words and the end of these labels, then the same of wider spans.
    """
    first_word, end_word, first_wider, end_wider = ranges
    rows, size, _ = labels.shape
    for b in range(rows):
        n, count = lengths[b], 0
        valid = n == 0 or labels[b, 0, n] >= 0
        for start in range(n):
            before = start
            for end in range(start + 1, n + 1):
                label = labels[b, start, end]
                if label < 0:
                    valid &= label == -1
                    continue
                if end == start + 1:
                    valid &= first_word <= label < end_word
                else:
                    valid &= first_wider <= label < end_wider
                    valid &= before > start and labels[b, before, end] >= 0
                before = end
                if count < places.shape[1]:
                    places[b, count] = start * size + end
                    span_labels[b, count] = label
                count += 1
        are_trees[b] = valid and count == max(2 * n - 1, 0)


def bit_places(spans: Tensor, codes: Tensor, bits: int) -> tuple[Tensor, Tensor]:
    rows, count = spans.shape
    return places_of(_bit_places, (rows, count * bits), spans, codes, bits)


@kernel
def _bit_places(spans: Array, codes: Array, bits: int, positive: Array, negative: Array) -> None:
    """Write the place of each 1 bit of the codes to ``positive``, and of each 0 bit to ``negative``.

    Arrays: ``spans``, negative where there is none, and ``codes (rows, count)``; the results ``positive`` and
    ``negative (rows, count bits)``, whose other entries are not written.
    """
    for row in range(len(spans)):
        for k in range(spans.shape[1]):
            if spans[row, k] >= 0:
                for bit in range(bits):
                    chosen = positive if codes[row, k] >> bit & 1 else negative
                    chosen[row, k * bits + bit] = spans[row, k] * bits + bit
