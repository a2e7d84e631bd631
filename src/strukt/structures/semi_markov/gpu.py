"""Semi-Markov chains on GPUs, as a table program."""

from strukt.kernels.engine.gpu.structures import Pairs
from strukt.structures.semi_markov import forward

TABLE = Pairs(forward.build, forward.cells)
