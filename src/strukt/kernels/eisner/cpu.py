"""Projective trees on the CPU: Eisner's recursion as a table."""

from strukt.kernels.eisner import program
from strukt.kernels.engine.backend import Backend

TABLE = Backend(program.build, program.cells)
