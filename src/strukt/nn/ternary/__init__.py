"""Ternary scores of the label of a word, its head and the label of the head: full tables or low-rank factors."""

from strukt.nn.ternary.base import BucketedTernary, Rows, Ternary, as_tables, projected, projected_back
from strukt.nn.ternary.factored import UV, UVW, Factored, WeightedUV
from strukt.nn.ternary.full import FullTernary

__all__ = [
    "UV",
    "UVW",
    "BucketedTernary",
    "Factored",
    "FullTernary",
    "Rows",
    "Ternary",
    "WeightedUV",
    "as_tables",
    "projected",
    "projected_back",
]
