"""Projective trees on GPUs: Eisner's algorithm as a table program."""

from strukt.kernels.engine.gpu.structures import Trees
from strukt.structures.projective_tree import eisner

TABLE = Trees(eisner.build, eisner.cells)
