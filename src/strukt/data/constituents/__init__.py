"""Constituency trees: their nodes, their form in brackets, and their lossless binarisation."""

from strukt.data.constituents.trees import TRACE, BracketError, Constituent, Node, Tree, escape, unescape

__all__ = ["TRACE", "BracketError", "Constituent", "Node", "Tree", "escape", "unescape"]
