"""Projective trees with labelled arcs on the CPU, by the table program without labels."""

from strukt.structures.projective_tree.cpu import TABLE

__all__ = ["TABLE"]
