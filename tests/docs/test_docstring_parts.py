"""Docstrings of the reference name arguments and errors, give shapes of results, and have an example."""

import ast
import builtins
import doctest
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from tests.docs import reference_reasons as reasons

tables = reasons.tables

LINE = re.compile(r"^::: (?P<path>\S+)(?P<options>(?:\n    .*)*)", re.MULTILINE)


def _documented(page: Path) -> dict[str, bool]:
    """The homes of the names of a page, and whether it shows their inherited members."""
    return {
        reasons.home(path): "inherited_members: true" in line["options"]
        for line in LINE.finditer(page.read_text(encoding="utf-8"))
        for path, _ in tables.documented(line["path"])
    }


@cache
def _everything() -> frozenset[str]:
    return frozenset(path for page in tables.pages() for path in _documented(page))


@cache
def lineage(path: str) -> list[str]:
    """The class and its bases, theirs too."""
    return [path, *(each for base in reasons.bases(path) for each in lineage(base))]


def _names(expression: ast.AST) -> set[str]:
    """The last names of all paths in an expression."""
    nodes = [*ast.walk(expression)]
    return {node.id for node in nodes if isinstance(node, ast.Name)} | {
        node.attr for node in nodes if isinstance(node, ast.Attribute)
    }


def decorators(node: ast.FunctionDef | ast.ClassDef) -> set[str]:
    return set().union(*map(_names, node.decorator_list))


def _bases(node: ast.ClassDef) -> set[str]:
    return set().union(*map(_names, node.bases))


def is_bare(node: ast.ClassDef) -> bool:
    """Whether users define subclasses of the class, and have no objects of the class itself."""
    members = [member for member in node.body if isinstance(member, ast.FunctionDef)]
    abstract = any("abstractmethod" in decorators(each) for each in members)
    return abstract or "ABC" in _bases(node) or "subclass" in _text(node)


def is_record(node: ast.ClassDef) -> bool:
    return "NamedTuple" in _bases(node) or "dataclass" in decorators(node)


def arguments(node: ast.FunctionDef) -> list[str]:
    several = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
    names = [each.arg for each in several if each.arg not in ("self", "cls")]
    extra = filter(None, (node.args.vararg, node.args.kwarg))
    return [name for name in (*names, *(each.arg for each in extra)) if not name.startswith("_")]


def _caught(node: ast.FunctionDef) -> set[ast.AST]:
    """What stands in a `try` that catches every exception."""
    tries = [each for each in ast.walk(node) if isinstance(each, ast.Try)]
    broad = [each for each in tries if any(h.type and ast.unparse(h.type) == "Exception" for h in each.handlers)]
    return {part for each in broad for statement in each.body for part in ast.walk(statement)}


def _raised(node: ast.FunctionDef) -> set[str]:
    caught = _caught(node)
    raises = [each for each in ast.walk(node) if isinstance(each, ast.Raise) and each not in caught]
    errors = [each.exc for each in raises if each.exc]
    calls = [error.func if isinstance(error, ast.Call) else error for error in errors]
    return {call.id for call in calls if isinstance(call, ast.Name) and call.id[0].isupper()}


def _warns(node: ast.FunctionDef) -> bool:
    return any(isinstance(each, ast.Call) and ast.unparse(each.func) == "warnings.warn" for each in ast.walk(node))


SHAPE = re.compile(r"``(\(|batch\b|sample_shape\b)|\b(shape|scalar)s?\b")


def missing(node: ast.FunctionDef, text: str, of_class: str = "") -> Iterator[str]:
    """The parts that a docstring of a function lacks; the docstring of its class may explain arguments."""
    for name in arguments(node):
        if not re.search(rf"\b{name}\b", text + of_class):
            yield f"the argument {name}"
    for error in sorted(_raised(node)):
        if not re.search(rf"\b{error}\b", text):
            yield f"the error {error}"
    if _warns(node) and "Warns:" not in text:
        yield "the warning"
    returned = _names(node.returns) if node.returns and not isinstance(node.body[-1], ast.Raise) else set()
    if "Tensor" in returned and not SHAPE.search(text):
        yield "the shape of the result"


HOOKS = {"extra_repr", "get_extra_state", "set_extra_state"}
"""Methods that PyTorch calls and describes."""


def _members(path: str) -> dict[str, ast.FunctionDef]:
    """The public methods of a class that are neither properties nor overloads."""
    node = reasons.definition(path)
    return {
        each.name: each
        for each in (node.body if isinstance(node, ast.ClassDef) else [])
        if isinstance(each, ast.FunctionDef)
        if not each.name.startswith("_") or each.name in ("__init__", "__call__")
        if each.name not in HOOKS
        if not decorators(each) & {"overload", "property", "cached_property", "setter"}
    }


def _text(node: ast.AST | None) -> str:
    return (ast.get_docstring(node) or "") + "\n" if node else ""


def _class_text(path: str) -> str:
    """The docstring of a class and those after its fields."""
    node = reasons.definition(path)
    texts = [each.value for each in getattr(node, "body", ()) if isinstance(each, ast.Expr)]
    return "\n".join(inspect.cleandoc(text.value) for text in texts if isinstance(text, ast.Constant))


EXAMPLES = re.compile(r"^Examples:\n(?:(?: .*)?\n?)*", re.MULTILINE)


def _explanations(path: str) -> str:
    """What the docstrings of a class say, without its examples."""
    return EXAMPLES.sub("", _class_text(path))


def has_example(path: str) -> bool:
    """Whether a class has an example, in its docstring or in that of a method."""
    return ">>>" in _class_text(path) + "".join(map(_text, _members(path).values()))


def needs_example(path: str) -> bool:
    """Whether a class is no error, options, protocol, result or bare base of a class with an example."""
    node = reasons.definition(path)
    if path.endswith(("Error", "Config")) or any(base.endswith("Error") for base in _bases(node)):
        return False
    if "Protocol" in _bases(node) or path.endswith("Prediction") or (is_record(node) and path in _received()):
        return False
    return not is_bare(node) or not any(path in lineage(each)[1:] and has_example(each) for each in _classes())


def _classes() -> list[str]:
    return [path for path in sorted(_everything()) if isinstance(reasons.definition(path), ast.ClassDef)]


@cache
def _received() -> frozenset[str]:
    """The types that documented functions and methods return."""
    results = set()
    for path in _everything():
        node = reasons.definition(path)
        homes = lineage(path) if isinstance(node, ast.ClassDef) else [path]
        functions = {node} if isinstance(node, ast.FunctionDef) else set()
        for home in homes:
            module = home.rpartition(".")[0]
            for each in functions | {*_members(home).values()}:
                results |= {*reasons.resolved(module, each.returns)} if each.returns else set()
    return frozenset(results)


def _lacking_members(path: str, family: list[str]) -> Iterator[str]:
    """The parts that docstrings of the public methods of a class lack; those of its family may have them."""
    of_class = "\n".join(map(_explanations, family))
    for name, member in _members(path).items():
        text = "".join(_text(_members(each).get(name)) for each in family)
        if name in ("__init__", "__call__", "forward"):
            text += of_class
        if text.strip():
            yield from (f"{name}: {part}" for part in missing(member, text, of_class))
        else:
            yield f"{name}: a docstring"


def lacking(path: str, with_bases: bool = False) -> Iterator[str]:
    """The parts that the docstrings of a documented name, its methods and fields lack."""
    node = reasons.definition(path)
    if isinstance(node, ast.FunctionDef):
        yield from missing(node, _text(node))
        if ">>>" not in _text(node):
            yield "an example"
    if not isinstance(node, ast.ClassDef):
        return
    family = lineage(path)
    for each in family if with_bases else [path]:
        yield from _lacking_members(each, family)
    fields = [each.target for each in node.body if isinstance(each, ast.AnnAssign)] if is_record(node) else []
    for field in map(ast.unparse, fields):
        if not field.startswith("_") and not re.search(rf"\b{field}\b", "\n".join(map(_explanations, family))):
            yield f"the field {field}"
    if needs_example(path) and not has_example(path):
        yield "an example"


def free_names(text: str) -> set[str]:
    """The names that examples use without importing or defining them, other than torch and strukt."""
    examples = doctest.DocTestParser().get_examples(text)
    names: dict[bool, set[str]] = {True: {*dir(builtins), "torch", "strukt"}, False: set()}
    for each in ast.walk(ast.parse("".join(example.source for example in examples))):
        if isinstance(each, ast.Name):
            names[not isinstance(each.ctx, ast.Load)].add(each.id)
        elif isinstance(each, ast.Import | ast.ImportFrom):
            names[True] |= {(alias.asname or alias.name).partition(".")[0] for alias in each.names}
        elif isinstance(each, ast.FunctionDef | ast.ClassDef | ast.ExceptHandler):
            names[True] |= {each.name or ""}
        elif isinstance(each, ast.arg):
            names[True].add(each.arg)
    return names[False] - names[True]


@pytest.mark.parametrize("page", tables.pages(), ids=lambda page: page.stem)
def test_examples_can_be_copied(page):
    lacking = {}
    for path in _documented(page):
        node = reasons.definition(path)
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            texts = [_text(node), *map(_text, _members(path).values())]
            lacking[path] = set().union(*map(free_names, texts)) - {path.rpartition(".")[2]}
    assert {path: names for path, names in lacking.items() if names} == {}


@pytest.mark.parametrize("page", tables.pages(), ids=lambda page: page.stem)
def test_docstrings_have_all_parts(page):
    documented = _documented(page).items()
    assert {f"{path}: {part}" for path, with_bases in documented for part in lacking(path, with_bases)} == set()


BARE = """
def function(x: Tensor, *rest: int, dim: int = 0, _hidden: int = 0, **options: Any) -> tuple[Tensor, int]:
    warnings.warn("slow")
    if dim:
        raise ValueError("no")
    return x, 0
"""


def _parts(text: str, of_class: str = "") -> list[str]:
    (node,) = ast.parse(BARE).body
    return list(missing(node, text, of_class))


def test_every_missing_part_is_reported():
    arguments = ["the argument x", "the argument dim", "the argument rest", "the argument options"]
    assert _parts("") == [*arguments, "the error ValueError", "the warning", "the shape of the result"]


def test_a_class_explains_arguments_but_neither_errors_nor_shapes():
    sections = "Raises:\n    ValueError: Always.\n\nWarns:\n    UserWarning: Always."
    of_class = f"x, dim, rest and options; ``(n,)``.\n\n{sections}"
    assert _parts("", of_class) == ["the error ValueError", "the warning", "the shape of the result"]
    assert _parts(of_class) == []


@pytest.mark.parametrize(
    ("text", "states"),
    [
        ("Return ``(n, c)``.", True),
        ("Return ``batch + (n,)``.", True),
        ("Return ``batch``; differentiable.", True),
        ("Return ``sample_shape +`` the others.", True),
        ("Return probabilities in the shape of ``x``.", True),
        ("Return a scalar.", True),
        ("Return the marginals (differentiable).", False),
        ("Return ``marginals``.", False),
    ],
)
def test_shapes_are_recognised(text, states):
    assert bool(SHAPE.search(text)) is states


def test_an_example_does_not_explain_arguments():
    assert EXAMPLES.sub("", "Text.\n\nExamples:\n    Words.\n\n    >>> f(x=1)\n    1\n\nEnd.") == "Text.\n\nEnd."


@pytest.mark.parametrize(
    ("path", "needs"),
    [
        ("strukt.structures.linear_chain.distribution.LinearChain", True),
        ("strukt.factor_graph.logic.Xor", True),
        ("strukt.testing.subject.Subject", True),  # a dataclass that users construct
        ("strukt.structures.hmm.results.Fit", False),  # only received, from a method
        ("strukt.structures.hmm.results.Infilling", False),  # only received, from an inherited method
        ("strukt.errors.DataError", False),
        ("strukt.tasks.tag.config.Config", False),
        ("strukt.structures.guide.TextState", False),  # a protocol
        ("strukt.structures.hmm.emissions.base.Emission", False),  # a base of users' classes
    ],
)
def test_some_classes_need_no_example(path, needs):
    assert needs_example(path) is needs


def test_overrides_inherit_the_docstrings_of_their_bases():
    path = "strukt.structures.hmm.emissions.poisson.Poisson"
    assert not ast.get_docstring(_members(path)["mixture"])
    assert not list(lacking(path))
