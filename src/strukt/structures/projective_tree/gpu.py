"""Projective trees on a GPU: Eisner's recursion as a table."""

from strukt.kernels.engine.gpu.structures import Trees
from strukt.structures.projective_tree import program

TABLE = Trees(program.build, program.cells)
