"""Compiled kernels of binary trees whose spans carry codes; all else is in `strukt.kernels.inside.bits`."""
