"""Formulas of pages are LaTeX that becomes MathML: well-formed, and without a command that is not understood."""

import re
from xml.etree import ElementTree

import pytest
from tests.docs.pages import DOCS, script, text_of

pytest.importorskip("latex2mathml", reason="needs latex2mathml: pip install latex2mathml")
pytest.importorskip("mkdocs", reason="needs mkdocs: pip install mkdocs-material")

BLOCK = re.compile(r"^```math\n(.*?)^```", re.MULTILINE | re.DOTALL)
FORMULAS = [source for page in DOCS.rglob("*.md") for source in BLOCK.findall(text_of(page))]


def mathml(source: str) -> ElementTree.Element:
    return ElementTree.fromstring(script("formulas").mathml(source))


def texts(element: ElementTree.Element) -> str:
    return "".join(element.itertext())


def test_formulas_are_understood():
    assert FORMULAS
    assert [source for source in FORMULAS if re.search(r"[\\&]|align", texts(mathml(source)))] == []


def test_a_formula_becomes_mathml():
    element = mathml(r"\alpha_{t+1} = \sum_i \alpha_t(i)")
    assert element.attrib == {"class": "formula"}
    assert texts(element) == "αt+1=∑iαt(i)"
    assert {child.tag.split("}")[1] for child in element.iter() if "}" in child.tag} >= {"math", "msub", "munder"}


def test_a_command_that_does_not_exist_is_found():
    assert "\\" in texts(mathml(r"\nothing x"))
