"""Tests for your own structures: enumeration as ground truth, and the conformance suite `check_structure`."""

from strukt.testing.brute_force import Table
from strukt.testing.checks import check_structure, laws
from strukt.testing.subject import Case, Subject

__all__ = ["Case", "Subject", "Table", "check_structure", "laws"]
