"""The reasons for which the reference may have a name, read from sources and pages without importing them."""

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache

from tests.docs.pages import DOCS, ROOT, script, text_of

SOURCE = ROOT / "src"
PAGES = [
    ROOT / "README.md",
    *(page for page in DOCS.rglob("*.md") if page.parent.name != "reference"),
    *(ROOT / "examples").rglob("*.py"),
]

tables = script("reference_tables")
"""The script that writes the tables of the reference."""

Definition = ast.ClassDef | ast.FunctionDef | ast.Assign | ast.AnnAssign


@cache
def tree(module: str) -> ast.Module | None:
    """The syntax tree of a module or package."""
    place = SOURCE.joinpath(*module.split("."))
    files = (place.with_suffix(".py"), place / "__init__.py")
    return next((ast.parse(file.read_text(encoding="utf-8")) for file in files if file.exists()), None)


@cache
def definitions(module: str) -> dict[str, Definition]:
    """The definitions of a module by name."""
    nodes = {}
    for node in tree(module).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            nodes[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            nodes[ast.unparse(target)] = node
    return nodes


@cache
def imports(module: str) -> list[tuple[str, str]]:
    """The path and the local name of each import from the package; of a star import, the module and a star."""
    return [
        (f"{node.module}.{alias.name}".removesuffix(".*"), alias.asname or alias.name)
        for node in ast.walk(tree(module))
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "strukt"
        for alias in node.names
    ]


@cache
def home(path: str) -> str | None:
    """The path at which a name is defined."""
    module, _, name = path.rpartition(".")
    if tree(module) is None or not module:
        return None
    if name in definitions(module):
        return path
    places = [place for place, bound in imports(module) if bound == name and place != path]
    places += [f"{place}.{name}" for place, bound in imports(module) if bound == "*"]
    return next(filter(None, map(home, places)), None)


def definition(path: str) -> Definition:
    module, _, name = path.rpartition(".")
    return definitions(module)[name]


@cache
def exported() -> set[str]:
    """The homes of all names in `__all__` of a package, and of `strukt.factor_graph.factors`."""
    files = [*(SOURCE / "strukt").rglob("__init__.py"), SOURCE / "strukt" / "factor_graph" / "factors.py"]
    paths = set()
    for file in files:
        module = ".".join(file.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        if "__all__" in definitions(module):
            names = ast.walk(definitions(module)["__all__"].value)
            paths |= {home(f"{module}.{name.value}") for name in names if isinstance(name, ast.Constant)}
    return paths - {None}


IMPORT = re.compile(r"^\s*from (strukt[\w.]*) import (\([^)]*\)|.*)$", re.MULTILINE)
PATH = re.compile(r"(?<![\w./-])\w+(?:\.\w+)+")


def imported(text: str) -> Iterator[str]:
    """The paths of the names that a page imports, and of their members that it mentions."""
    for module, names in IMPORT.findall(text):
        for name, _, alias in (each.strip().partition(" as ") for each in names.strip("()").split(",")):
            yield f"{module}.{name}"
            for member in re.findall(rf"\b{alias or name}\.(\w+)", text) if name else ():
                yield f"{module}.{name}.{member}"


def written(text: str) -> Iterator[str]:
    """The paths that a page writes outside imports, some with members at the end; `strukt.` may be missing."""
    for path in PATH.findall(IMPORT.sub("", text)):
        yield path if path.startswith("strukt.") else f"strukt.{path}"


def home_of_beginning(path: str) -> str | None:
    """The home of the longest beginning of a path that is a name."""
    parts = path.split(".")
    return next(filter(None, (home(".".join(parts[:end])) for end in range(len(parts), 1, -1))), None)


@cache
def used() -> set[str]:
    """The homes of the names that pages use."""
    texts = [text_of(page) for page in PAGES]
    paths = {path for text in texts for path in (*written(text), *imported(text))}
    return set(map(home_of_beginning, paths)) - {None}


def resolved(module: str, expression: ast.AST | None) -> Iterator[str]:
    """The homes of the names in an expression."""
    for node in ast.walk(expression) if expression else ():
        path = None
        if isinstance(node, ast.Name):
            path = home(f"{module}.{node.id}")
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            places = [place for place, bound in imports(module) if bound == node.value.id]
            path = next(filter(None, (home(f"{place}.{node.attr}") for place in places)), None)
        if path:
            yield path


def bases(path: str) -> list[str]:
    """The homes of the bases of a class, without their type arguments."""
    node, module = definition(path), path.rpartition(".")[0]
    expressions = node.bases if isinstance(node, ast.ClassDef) else []
    heads = [each.value if isinstance(each, ast.Subscript) else each for each in expressions]
    return [base for each in heads for base in resolved(module, each)]


def _is_public(member: ast.stmt) -> bool:
    if not isinstance(member, ast.FunctionDef):
        return False
    return not member.name.startswith("_") or member.name in ("__init__", "__call__")


def _expressions(node: Definition) -> Iterator[ast.AST | None]:
    """The annotations and bases of a definition; of an alias, what it stands for."""
    if isinstance(node, ast.FunctionDef):
        arguments = node.args
        several = filter(None, (arguments.vararg, arguments.kwarg))
        for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *several):
            yield each.annotation
        yield node.returns
    elif isinstance(node, ast.ClassDef):
        yield from node.bases
        for member in node.body:
            if isinstance(member, ast.AnnAssign) or _is_public(member):
                yield from _expressions(member)
    elif isinstance(node, ast.AnnAssign):
        yield node.annotation
    else:
        yield node.value


def _raised(node: Definition) -> set[str]:
    """The names of errors in the docstrings of a definition and its public members."""
    members = filter(_is_public, node.body) if isinstance(node, ast.ClassDef) else ()
    documented = [node, *members] if isinstance(node, ast.ClassDef | ast.FunctionDef) else []
    texts = [ast.get_docstring(each) or "" for each in documented]
    return {error for text in texts for error in re.findall(r"^\s+(\w+Error):", text, re.MULTILINE)}


@cache
def types(path: str) -> set[str]:
    """The homes of what a name returns, takes, raises or has as a base, and of what its bases do."""
    node, module = definition(path), path.rpartition(".")[0]
    homes = {each for expression in _expressions(node) for each in resolved(module, expression)}
    for error in _raised(node):
        homes |= {home(f"{module}.{error}"), home(f"strukt.errors.{error}")} - {None}
    return homes.union(*map(types, bases(path)))


def closure(names: Iterable[str], shown: set[str]) -> set[str]:
    """The names, and the shown names that are their types, or types of these; aliases are followed."""
    reached, todo = set(), [*names]
    while todo:
        path = todo.pop()
        if path not in reached:
            reached.add(path)
            todo += [each for each in types(path) if each in shown or isinstance(definition(each), ast.Assign)]
    return reached


def justified(shown: set[str], models: set[str]) -> set[str]:
    """Those of the homes that may stand in the reference; the models and options of tasks may."""
    readers = {path for path in shown if path.startswith("strukt.data.") and path.endswith(".read")}
    reached = closure(exported() | used() | models | readers, shown)
    kinds = {path: {*bases(path), *constant_types(path)} for path in shown if not path.endswith("Error")}
    of_them = {path for path in shown if kinds.get(path, set()) & reached}
    return shown & closure(reached | of_them, shown)


def constant_types(path: str) -> list[str]:
    """The homes of the types of an annotated constant."""
    node, module = definition(path), path.rpartition(".")[0]
    return [*resolved(module, node.annotation)] if isinstance(node, ast.AnnAssign) else []
