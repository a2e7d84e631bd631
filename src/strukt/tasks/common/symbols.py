"""The forms of the symbols that models predict: what files of their tasks have a place for.

Ends of lines and NUL are in no symbol, be it predicted or not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

Forms = Mapping[str, re.Pattern[str]]
"""By the names of vocabularies, what each of their symbols looks like."""

COLUMN = re.compile(r"[^\t]+")
"""Something in a column."""

NUMBER = re.compile(r"\d+", re.ASCII)
"""A whole number from 0 on."""

PARENT = re.compile(r"_|self|-?\d+", re.ASCII)
"""Where the parent of a word is, if it has one."""

CHAIN = re.compile(r"([^\s()]+( [^\s()]+)*)?", re.ASCII)
"""The labels of constituents over the same words, or none."""

TYPES = re.compile(r"([^\t]+(\t[^\t]+)*)?")
"""The types of entities with the same words, or none."""
