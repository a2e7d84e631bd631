"""The reference has every public name by the path to import it from, and its tables are those of its script."""

import re
from importlib import import_module
from pkgutil import resolve_name
from types import ModuleType

import pytest
from tests.docs import reference_reasons
from tests.docs.pages import DOCS, text_of

from strukt.data import corpus
from strukt.tasks import TASKS

tables = reference_reasons.tables
LINE = re.compile(r"^::: (\S+)$", re.MULTILINE)
SHOWN = [path for page in tables.pages() for path in LINE.findall(text_of(page))]


def test_every_page_but_that_of_commands_has_a_table():
    assert {page.stem for page in (DOCS / "reference").glob("*.md")} == {*(p.stem for p in tables.pages()), "cli"}


@pytest.mark.parametrize("page", tables.pages(), ids=lambda page: page.stem)
def test_tables_are_what_the_script_writes(page):
    text = text_of(page)
    assert text == tables.written(page), "rewrite them: python docs/reference_tables.py"


def test_nothing_is_shown_twice():
    documented = [path for shown in SHOWN for path, _ in tables.documented(shown)]
    assert len(documented) == len(set(documented))


PACKAGES = [
    "strukt",
    *(f"strukt.{name}" for name in ("automata", "factor_graph", "factor_graph.factors", "hf", "losses")),
    *(f"strukt.{name}" for name in ("mappings", "metrics", "nn", "onnx", "sklearn", "spacy", "testing", "viz")),
]


SLOW = {"data", "hf", "onnx", "scale", "serve", "sklearn", "spacy", "tasks", "train"}
"""Packages of which no other package exports names, and whose imports take long."""


@pytest.mark.parametrize("package", PACKAGES)
def test_the_reference_has_every_public_name(package):
    elsewhere = SLOW - set(package.split("."))
    shown = [resolve_name(path) for path in SHOWN if path.split(".")[1] not in elsewhere]
    public = {name: getattr(import_module(package), name) for name in import_module(package).__all__}
    missing = {name for name, value in public.items() if not any(value is other for other in shown)}
    assert {name for name in missing if not isinstance(public[name], ModuleType)} == set()


DOCUMENTED = {
    reference_reasons.home(path): path for shown in SHOWN for path, _ in tables.documented(shown)
}
MODELS = {
    f"{home.__module__}.{home.__qualname__}"
    for task in TASKS.values()
    for home in (task.model_class(), task.config_class())
}


def test_every_name_of_the_reference_has_a_reason():
    justified = reference_reasons.justified({*DOCUMENTED}, MODELS)
    assert {path for home, path in DOCUMENTED.items() if home not in justified} == set()


INTERNAL = [
    "strukt.checks.guards.require_sizes",
    "strukt.data.columns.missing",
    "strukt.data.corpora.download.TIMEOUT",
    "strukt.kernels.semiring.forbidden_only",
    "strukt.serve.guard.BodyLimit",
    "strukt.serve.structures.Structures",
    "strukt.tasks.tag.token_codes.TokenCodes",
]


@pytest.mark.parametrize("path", INTERNAL)
def test_internals_have_no_reason(path):
    assert reference_reasons.definition(path)
    assert path not in reference_reasons.justified({*DOCUMENTED, path}, MODELS)


def test_the_reference_has_the_model_and_the_options_of_every_task():
    assert set(SHOWN) >= MODELS


KINDS = (corpus.WORDS, corpus.TREES, corpus.ENTITIES, corpus.LOGICAL_FORMS, corpus.CLASSES, corpus.PAIRS)


def test_the_reference_has_every_format():
    of_data = [path for path in SHOWN if path.startswith("strukt.data.")]
    documented = [resolve_name(path) for shown in of_data for path, _ in tables.documented(shown)]
    readers = {reader for kind in KINDS for format, reader in kind.items() if format != "text"}
    for reader in readers:
        assert any(reader is each for each in documented), reader


@pytest.mark.parametrize(
    ("path", "summary"),
    [
        ("strukt.LinearChain", "Tag sequences scored by each tag"),
        ("strukt.losses.sparsemax_loss", "Return the Fenchel-Young loss of sparsemax"),
        ("strukt.factor_graph.factors.Xor", "Exactly one variable is 1"),
    ],
)
def test_docstrings_are_found_where_names_are_defined(path, summary):
    ((found, text),) = tables.documented(path)
    assert found == path
    assert summary in text


def test_a_name_that_does_not_exist_is_an_error():
    with pytest.raises(ValueError, match=r"strukt\.nn has no name Nothing with a docstring"):
        tables.documented("strukt.nn.Nothing")
