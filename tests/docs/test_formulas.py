"""Formulas of pages are LaTeX that becomes MathML: well-formed, and without a command that is not understood."""

import re
import sys
from importlib import import_module
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytest.importorskip("latex2mathml", reason="needs latex2mathml: pip install latex2mathml")
pytest.importorskip("mkdocs", reason="needs mkdocs: pip install mkdocs-material")

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```math\n(.*?)^```", re.MULTILINE | re.DOTALL)
FORMULAS = [
    pytest.param(source, id=f"{page.stem}-{number}")
    for page in sorted(DOCS.rglob("*.md"))
    for number, source in enumerate(BLOCK.findall(page.read_text(encoding="utf-8")))
]


def mathml(source: str) -> ElementTree.Element:
    sys.path.insert(0, str(DOCS))
    try:
        return ElementTree.fromstring(import_module("formulas").mathml(source))
    finally:
        sys.path.remove(str(DOCS))


def texts(element: ElementTree.Element) -> str:
    return "".join(element.itertext())


@pytest.mark.parametrize("source", FORMULAS)
def test_formulas_are_understood(source):
    assert not re.search(r"[\\&]|align", texts(mathml(source)))


def test_a_formula_becomes_mathml():
    element = mathml(r"\alpha_{t+1} = \sum_i \alpha_t(i)")
    assert element.attrib == {"class": "formula"}
    assert texts(element) == "αt+1=∑iαt(i)"
    assert {child.tag.split("}")[1] for child in element.iter() if "}" in child.tag} >= {"math", "msub", "munder"}


def test_a_command_that_does_not_exist_is_found():
    assert "\\" in texts(mathml(r"\nothing x"))
