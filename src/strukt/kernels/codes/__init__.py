"""Compiled kernels of binary trees whose spans carry codes; the reference is in `strukt.kernels.inside.bits`."""
