"""Projective trees with labels on the CPU: the table of those without."""

from strukt.structures.projective_tree.cpu import TABLE

__all__ = ["TABLE"]
