"""Projective trees on the CPU: Eisner's recursion as a table."""

from strukt.kernels.engine.backend import Backend
from strukt.structures.projective_tree import program

TABLE = Backend(program.build, program.cells)
