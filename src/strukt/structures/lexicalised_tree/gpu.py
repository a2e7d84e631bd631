"""Lexicalised trees on GPUs, as a table program."""

from strukt.kernels.engine.gpu.structures import Rows
from strukt.structures.lexicalised_tree import program

TABLE = Rows(program.build, program.cells, scores=2, power=4, more=1)
