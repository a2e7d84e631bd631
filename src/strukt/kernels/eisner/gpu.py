"""Projective trees on a GPU: Eisner's recursion as a table."""

from strukt.kernels.eisner import program
from strukt.kernels.engine.gpu.structures import Trees

TABLE = Trees(program.build, program.cells)
