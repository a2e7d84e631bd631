"""Compile the kernels of events and of looks at scores for a GPU that is not there; print what comes out.

Run as `python -m tests.structures.events.compile_launches CAPABILITY`: lines of JSON as those of
`tests.kernels.engine.gpu.compile_launches`.
"""

import json
import sys

import torch
from tests.kernels.engine.gpu.compile_launches import compiled, usage

from strukt.kernels.magnitude import gpu as magnitude
from strukt.structures.events import gpu as events

SIZES = (1, 40, 1500)
"""The numbers of words: one, of which Triton makes a constant, those of a warp and those of four."""


def launch():
    for n in SIZES:
        sequence, lengths = torch.zeros(4, n, dtype=torch.int64), torch.full((4,), n)
        events.in_range(sequence, lengths, 5)
        events.alternative_places(sequence, lengths, 5)
        for per_step in (True, False):
            events.tag_places(sequence, lengths, 5, per_step)
            events.segment_places(sequence, lengths, 3, 5, 5, per_step)
        events.are_frames(sequence, lengths, torch.zeros(4, 7, dtype=torch.int64), lengths, 0, 5)
        events.are_segmentations(sequence, lengths, 3, 5)
        for single_root in (True, False):
            for projective in (True, False):
                events.are_dependency_trees(sequence, lengths, single_root, projective)
        events.bit_places(sequence, sequence, 8)
        moves = torch.zeros(4, min(n, 40), 30, dtype=torch.int64)
        events.are_paths(moves, lengths, lengths)
        events.path_places(moves, lengths, lengths)
    for fenceposts in (2, 41, 300):
        labels = torch.zeros(4, fenceposts, fenceposts, dtype=torch.int64)
        events.read_spans(labels, torch.full((4,), fenceposts - 1), range(3, 5), range(3))
    for dtype in (torch.float32, torch.float64):
        magnitude.are_ordinary((torch.zeros(9000, dtype=dtype),), 1e9)


if __name__ == "__main__":
    for name, kernel in compiled(sys.argv[1], launch):
        print(json.dumps({"kernel": name, **usage(kernel)}))
