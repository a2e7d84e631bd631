"""Patterns of predicted symbols, which their file formats must be able to hold.

No symbol contains a line end or NUL.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

Forms = Mapping[str, re.Pattern[str]]
"""The pattern of the symbols of each vocabulary, by its name."""

COLUMN = re.compile(r"[^\t]+")
"""A value in a column."""

NUMBER = re.compile(r"\d+", re.ASCII)
"""A whole number, 0 or more."""

PARENT = re.compile(r"_|self|-?\d+", re.ASCII)
"""The position of the parent of a word, if it has one."""

CHAIN = re.compile(r"([^\s()]+( [^\s()]+)*)?", re.ASCII)
"""A chain of labels of constituents over the same words, or none."""

TYPES = re.compile(r"([^\t]+(\t[^\t]+)*)?")
"""The types of entities over the same words, or none."""
