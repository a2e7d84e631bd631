"""The floors of the house, as CONTRIBUTING.md draws them."""

import ast
import re
from pathlib import Path

import pytest

import strukt

ROOT = Path(strukt.__file__).parent
PAGE = Path(__file__).parents[2] / "CONTRIBUTING.md"


def floors() -> dict[str, int]:
    """The number of each floor, from below."""
    (house,) = re.findall(r"```text\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    parts = [re.split(r"\s{3,}", line)[0].split() for line in house.splitlines()]
    return {name: floor for floor, names in enumerate(reversed(parts)) for name in names}


FLOORS = floors()


def imported(path: Path) -> set[str]:
    """The parts of the package that a file imports from, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "strukt":
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("strukt."):
            found.add(node.module.split(".")[1])
    return found


def test_every_part_has_a_floor():
    parts = {path.stem for path in ROOT.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert parts - set(FLOORS) == {"__init__", "__main__", "errors", "shown"}  # below all others
    assert set(FLOORS) <= parts


@pytest.mark.parametrize("part", FLOORS)
def test_imports_go_downwards(part):
    files = [ROOT / f"{part}.py"] if (ROOT / f"{part}.py").exists() else [*(ROOT / part).rglob("*.py")]
    assert files
    for path in files:
        above = [name for name in imported(path) if FLOORS.get(name, 0) > FLOORS[part]]
        assert not above, f"{path} imports from {above}"
