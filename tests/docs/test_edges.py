"""The page of edges names tests and laws that exist."""

import re

import pytest
from tests.docs.pages import DOCS, ROOT, text_of

from strukt.testing import laws
from strukt.testing.subjects import STRUCTURES

PAGE = text_of(DOCS / "concepts" / "edges.md")
ROWS = [
    line.split("|")[1:3]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith("| guarantee ")
]
FOLDERS = ("factor_graph", "inference", "known_failures", "losses", "mappings", "structures")
FILES = [file for folder in FOLDERS for file in (ROOT / "tests" / folder).glob("**/test_*.py")]
TESTS = {
    name
    for file in FILES
    for name in re.findall(r"^def (test_\w+)", text_of(file), re.MULTILINE)
}
LAWS = {law.name for subject in STRUCTURES for law in laws(subject)}


@pytest.mark.parametrize(("promise", "checks"), ROWS)
def test_every_promise_has_a_test(promise, checks):
    names = re.findall(r"`(\w+)`", checks)
    assert names, promise
    for name in names:
        assert name in TESTS or name in LAWS, name
