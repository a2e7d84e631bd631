"""Projective trees with labels on the CPU: the table of those without."""

from strukt.kernels.eisner.cpu import TABLE

__all__ = ["TABLE"]
