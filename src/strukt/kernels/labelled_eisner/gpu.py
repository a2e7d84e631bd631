"""Projective trees with labels on a GPU: the table of those without."""

from strukt.kernels.eisner.gpu import TABLE

__all__ = ["TABLE"]
