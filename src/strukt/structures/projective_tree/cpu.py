"""Projective trees on the CPU: Eisner's algorithm as a table program."""

from strukt.kernels.engine.backend import Backend
from strukt.structures.projective_tree import eisner

TABLE = Backend(eisner.build, eisner.cells)
