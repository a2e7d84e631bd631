"""Lexicalised trees on GPUs, as a table program."""

from strukt.kernels.engine.gpu.structures import Rows
from strukt.structures.lexicalised_tree import eisner_satta

TABLE = Rows(eisner_satta.build, eisner_satta.cells, scores=2, power=4, more=1)
