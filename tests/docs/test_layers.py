"""The layers of packages, and the files of the index, as CONTRIBUTING.md has them."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import strukt

ROOT = Path(strukt.__file__).parent
PAGE = Path(__file__).parents[2] / "CONTRIBUTING.md"


def layers() -> dict[str, int]:
    """The number of each layer, from below."""
    (drawing,) = re.findall(r"```text\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    parts = [re.split(r"\s{3,}", line)[0].split() for line in drawing.splitlines()]
    return {name: layer for layer, names in enumerate(reversed(parts)) for name in names}


LAYERS = layers()


@cache
def imports(path: Path) -> list[ast.ImportFrom]:
    """The statements of a file that import names, anywhere in it."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return [node for node in nodes if isinstance(node, ast.ImportFrom)]


def imported(path: Path) -> set[str]:
    """The parts of the package that a file imports from, anywhere in it."""
    found = set()
    for node in imports(path):
        if node.module == "strukt":
            found |= {alias.name for alias in node.names}
        elif (node.module or "").startswith("strukt."):
            found.add(node.module.split(".")[1])
    return found


def test_every_part_has_a_layer():
    parts = {path.stem for path in ROOT.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    below_all_others = {"__init__", "__main__", "errors", "missing_names", "shown", "tensor_file"}
    assert parts - set(LAYERS) == below_all_others
    assert set(LAYERS) <= parts


@pytest.mark.parametrize("part", LAYERS)
def test_imports_go_downwards(part):
    files = [ROOT / f"{part}.py"] if (ROOT / f"{part}.py").exists() else [*(ROOT / part).rglob("*.py")]
    assert files
    for path in files:
        above = [name for name in imported(path) if LAYERS.get(name, 0) > LAYERS[part]]
        assert not above, f"{path} imports from {above}"


def files_imported(path: Path) -> set[Path]:
    """The files of the package that a file imports, anywhere in it; packages stand for their `__init__.py`."""
    found = set()
    for node in imports(path):
        if (node.module or "").split(".")[0] == "strukt":
            folder = ROOT.joinpath(*node.module.split(".")[1:])
            found |= {folder.with_suffix(".py"), *(folder / f"{alias.name}.py" for alias in node.names)}
    return {file for file in found if file.exists()}


def test_no_file_imports_itself_through_others():
    reached = {path: files_imported(path) for path in ROOT.rglob("*.py")}
    for between in reached:  # Warshall's algorithm
        for path, others in reached.items():
            if between in others:
                reached[path] = others | reached[between]
    assert not [str(path.relative_to(ROOT)) for path, others in reached.items() if path in others]


def test_files_have_at_most_300_lines():
    lines = {path: path.read_text(encoding="utf-8").count("\n") for path in ROOT.rglob("*.py")}
    assert lines
    assert not [str(path.relative_to(ROOT)) for path, count in lines.items() if count > 300]


def things() -> dict[str, list[Path]]:
    """The files that the index names, by what it calls them."""
    page = PAGE.read_text(encoding="utf-8")
    (table,) = re.findall(r"\| what \| where \|\n\|---\|---\|\n(.*?)\n\n", page, re.DOTALL)
    found = {}
    for what, where in (line.strip("| ").split(" | ") for line in table.splitlines()):
        folder, paths = ROOT, []
        for name in re.findall(r"`([^`]+)`", where):
            path = ROOT / name if "/" in name else folder / name
            folder = path.parent
            paths.append(path)
        found[what.replace("`", "")] = paths
    return found


@pytest.mark.parametrize(("what", "paths"), things().items(), ids=things())
def test_things_are_found_where_the_index_says(what, paths):
    assert all(path.exists() for path in paths)
    said = "".join(path.read_text(encoding="utf-8").lower() for path in paths if path.is_file())
    for word in re.findall(r"[a-z]+", what.lower()):
        assert word in said, f"{paths} do not speak of {word}"
