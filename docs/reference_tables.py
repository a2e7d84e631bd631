"""The tables at the top of the pages of the reference; `python docs/reference_tables.py` rewrites them.

A page names what it documents in lines `::: strukt.LinearChain`, which only the built site expands. Its table has
a row for each: the path to import, and the first sentence of the docstring. A module has a row for each of its
documented names. Sources are parsed, not imported, so that no extra is needed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

DOCS = Path(__file__).parent
SOURCE = DOCS.parent / "src"

TABLE = re.compile(r"(?<=<!-- names: begin -->\n).*?(?=<!-- names: end -->)", re.DOTALL)
LINE = re.compile(r"^(?:## (?P<group>.+)|::: (?P<path>\S+))$", re.MULTILINE)
SENTENCE = re.compile(r".*?(?<!et al)[.!?](?=\s|$)")


def pages() -> list[Path]:
    """Return the pages that have a table."""
    return [page for page in sorted((DOCS / "reference").glob("*.md")) if TABLE.search(_text(page))]


def written(page: Path) -> str:
    """Return the text of a page with its table rewritten."""
    text = _text(page)
    return TABLE.sub(lambda _: "\n".join(["", *_rows(text), "", ""]), text, count=1)


def _text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def _rows(text: str) -> Iterator[str]:
    """Yield the lines of a page's table."""
    yield from ("| Name | Summary |", "|---|---|")
    for match in LINE.finditer(text):
        if match["group"]:
            yield f"| **{match['group']}** | |"
        else:
            yield from (_row(path, summary) for path, summary in documented(match["path"]))


def _row(path: str, summary: str) -> str:
    """Return the row of a name, with the first sentence of its docstring."""
    first = SENTENCE.match(" ".join(summary.split()))
    sentence = (first[0] if first else summary).rstrip(".:").replace("``", "`").replace("|", r"\|")
    return f"| [`{path}`](#{path}) | {sentence} |"


def documented(path: str) -> list[tuple[str, str]]:
    """Return the names that a line of a page documents, each with its docstring."""
    module = _module(path)
    if module is None:
        return [(path, _docstring(path))]
    return [(f"{path}.{name}", text) for name, text in _docstrings(module).items() if not name.startswith("_")]


def _docstring(path: str) -> str:
    """Return the docstring of a name, where necessary from the module that its package imports it from."""
    package, _, name = path.rpartition(".")
    module = _module(package)
    if module is None:
        raise ValueError(f"{path}: there is no module {package}; name a module, or a name in a module")
    local = _docstrings(module).get(name)
    if local:
        return local
    homes = [home for home, bound in _imports(module) if bound == name]
    homes += [f"{home}.{name}" for home, bound in _imports(module) if bound == "*" and _has(home, name)]
    if not homes:
        raise ValueError(f"{path}: {package} has no name {name} with a docstring")
    return _docstring(homes[0])


def _has(path: str, name: str) -> bool:
    """Return True if a module documents or imports a name."""
    module = _module(path)
    return module is not None and name in {*_docstrings(module), *(bound for _, bound in _imports(module))}


@cache
def _module(path: str) -> ast.Module | None:
    """Return the syntax tree of a module or package of `src`; None if there is none with this path."""
    place = SOURCE.joinpath(*path.split("."))
    for file in (place.with_suffix(".py"), place / "__init__.py"):
        if file.exists():
            return ast.parse(_text(file))
    return None


def _docstrings(module: ast.Module) -> dict[str, str]:
    """Return the docstrings of classes, functions and constants by name."""
    texts = {}
    for node, after in zip(module.body, [*module.body[1:], None], strict=True):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            texts[node.name] = ast.get_docstring(node) or ""
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(after, ast.Expr):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            if isinstance(target, ast.Name) and isinstance(after.value, ast.Constant):
                texts[target.id] = str(after.value.value)
    return {name: text for name, text in texts.items() if text}


def _imports(module: ast.Module) -> list[tuple[str, str]]:
    """Return the path and the name of each import; of a star import, the module and a star."""
    return [
        (f"{node.module}.{alias.name}".removesuffix(".*"), alias.asname or alias.name)
        for node in ast.walk(module)
        if isinstance(node, ast.ImportFrom) and node.level == 0
        for alias in node.names
    ]


if __name__ == "__main__":
    for page in pages():
        page.write_text(written(page), encoding="utf-8")
