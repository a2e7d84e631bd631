"""The page is valid, escaped and self-contained."""

import re
from html.parser import HTMLParser

import pytest

from strukt.viz import Bracket, BracketDiagram, Diagram, HeatMap
from strukt.viz.html import page

VOID = {"meta", "rect", "path"}


class Page(HTMLParser):
    """Checks that every element is closed in order, and keeps what is in the page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


@pytest.fixture
def text():
    first = Diagram(["Dogs", "bark"], ["NOUN", "VERB"], [2, 0], ["nsubj", "root"], [0.9, 0.8], [0.7, 0.6])
    brackets = BracketDiagram(["<i>&"], [Bracket("<NP>", 0, 1, code=9)], ["X"], bits=4)
    table = HeatMap("<b>", ["<i>"], ["&"], [[1.0]])
    return page([first, Diagram(["<i>&"], ["X"]), brackets, table], "parser · <Dogs> & bark")


def test_every_picture_is_a_figure_and_every_element_closed_in_order(text):
    assert Page(text).open == []
    assert text.count("<figure>") == text.count("<svg ") == 4
    assert text.startswith("<!DOCTYPE html>\n")


def test_nothing_is_loaded_from_outside_and_there_is_no_script(text):
    assert not re.findall(r"(?:src|href)\s*=|url\(|@import|<script|<link|<iframe", text)
    assert not [name for _, name, _ in Page(text).attributes if name.startswith("on")]
    addresses = re.findall(r"\w+://[^\"]*", text)
    assert set(addresses) == {"http://www.w3.org/2000/svg"}, "only the name of the SVG vocabulary"


def test_text_is_escaped(text):
    shown = Page(text).texts
    assert shown.count("<i>&") == 2
    assert {"<NP>", "<b>", "<i>", "&"} <= set(shown)
    assert "parser · <Dogs> & bark" in shown


def test_light_and_dark(text):
    assert text.count("prefers-color-scheme: dark") == 2
    assert "color-scheme: light dark" in text
