"""The page of edges names tests and laws that exist."""

import re
from pathlib import Path

import pytest

from strukt.testing import laws
from strukt.testing.subjects import STRUCTURES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/concepts/edges.md").read_text(encoding="utf-8")
ROWS = [
    line.split("|")[1:3]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith("| guarantee ")
]
FILES = [
    *(ROOT / "tests/known_failures").glob("test_*.py"),
    *(ROOT / "tests/inference").glob("test_sparsemap.py"),
    *(ROOT / "tests/structures").glob("**/test_*.py"),
]
TESTS = {
    name
    for file in FILES
    for name in re.findall(r"^def (test_\w+)", file.read_text(encoding="utf-8"), re.MULTILINE)
}
LAWS = {law.name for subject in STRUCTURES for law in laws(subject)}


@pytest.mark.parametrize(("promise", "checks"), ROWS)
def test_every_promise_has_a_test(promise, checks):
    names = re.findall(r"`(\w+)`", checks)
    assert names, promise
    for name in names:
        assert name in TESTS or name in LAWS, name
