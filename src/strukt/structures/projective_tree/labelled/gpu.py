"""Projective trees with labels on a GPU: the table of those without."""

from strukt.structures.projective_tree.gpu import TABLE

__all__ = ["TABLE"]
