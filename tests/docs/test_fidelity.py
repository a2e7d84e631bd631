"""The page *Fidelity* names tests that exist, and every test that compares a model with its publication."""

import re
from pathlib import Path

from tests.docs.pages import DOCS, ROOT, text_of

PAGE = text_of(DOCS / "concepts" / "fidelity.md")


def names_of_tests(folder: Path) -> set[str]:
    """The names of the functions that are tests."""
    texts = map(text_of, folder.rglob("test_*.py"))
    return {name for text in texts for name in re.findall(r"^ *def (test_\w+)", text, re.MULTILINE)}


NAMED = set(re.findall(r"`(test_\w+)`", PAGE))


def test_every_test_that_the_page_names_exists():
    assert sorted(NAMED - names_of_tests(ROOT / "tests")) == []


def test_the_page_names_every_test_of_fidelity():
    assert sorted(names_of_tests(ROOT / "tests" / "fidelity") - NAMED) == []


def test_rows_of_equations_name_their_tests():
    tables = re.findall(r"^\| Source \|.*\n\|[-| ]+\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    rows = [row for table in tables for row in table.splitlines()]
    assert len(rows) > 80
    assert [row for row in rows if row.replace(r"\|", "").count("|") != 6] == []
    assert [row for row in rows if "`test_" not in row] == []
