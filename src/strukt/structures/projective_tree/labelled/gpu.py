"""Projective trees with labelled arcs on GPUs, by the table program without labels."""

from strukt.structures.projective_tree.gpu import TABLE

__all__ = ["TABLE"]
