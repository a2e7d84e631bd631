"""Monotone alignments on GPUs, as a table program."""

from strukt.kernels.engine.gpu.structures import Pairs
from strukt.structures.monotone_alignment import gotoh

TABLE = Pairs(gotoh.build, gotoh.cells, axes=2)
