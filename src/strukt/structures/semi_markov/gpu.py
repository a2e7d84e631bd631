"""Semi-Markov chains on GPUs, as a table program."""

from strukt.kernels.engine.gpu.structures import Pairs
from strukt.structures.semi_markov import program

TABLE = Pairs(program.build, program.cells)
