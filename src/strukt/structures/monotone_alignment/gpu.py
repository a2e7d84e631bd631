"""Monotone alignments on GPUs, as a table program."""

from strukt.kernels.engine.gpu.structures import Pairs
from strukt.structures.monotone_alignment import program

TABLE = Pairs(program.build, program.cells, axes=2)
