"""Patterns of predicted symbols: those that the file formats of the predictions can hold.

`strukt.train.intact` also rejects symbols with a line end or NUL.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

Forms = Mapping[str, re.Pattern[str]]
"""The pattern that the symbols of a vocabulary must match, by the name of the vocabulary."""

COLUMN = re.compile(r"[^\t]+")
"""A value in a column of a file."""

NUMBER = re.compile(r"\d+", re.ASCII)
"""A whole number, 0 or more."""

PARENT = re.compile(r"_|self|-?\d+", re.ASCII)
"""The position or the offset of a word's parent; `_` or `self` for words without a parent."""

CHAIN = re.compile(r"([^\s()]+( [^\s()]+)*)?", re.ASCII)
"""The labels of all constituents over the same words, separated by spaces; empty for no constituent."""

TYPES = re.compile(r"([^\t]+(\t[^\t]+)*)?")
"""The types of all entities over the same words, separated by tabs; empty for no entity."""
