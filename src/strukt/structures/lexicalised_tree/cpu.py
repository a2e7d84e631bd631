"""Lexicalised trees on the CPU, as a table program."""

from strukt.kernels.engine.backend import RowBackend
from strukt.structures.lexicalised_tree import eisner_satta

TABLE = RowBackend(eisner_satta.build, eisner_satta.cells, scores=2, event_dim=2)
