"""Lexicalised trees on the CPU, as a table program."""

from strukt.kernels.engine.backend import RowBackend
from strukt.structures.lexicalised_tree import program

TABLE = RowBackend(program.build, program.cells, scores=2, event_dim=2)
