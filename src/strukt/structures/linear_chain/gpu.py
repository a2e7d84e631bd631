"""The linear chain on GPUs, as a table program."""

from strukt.kernels.engine.gpu.structures import Pairs
from strukt.structures.linear_chain import program

TABLE = Pairs(program.build, program.cells)
