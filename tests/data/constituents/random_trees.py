"""Random constituency trees and layouts of them, for property tests; and the trees of GUM."""

from itertools import pairwise

from hypothesis import strategies as st
from tests.data.sources import shared

from strukt.data.constituents import TRACE, Tree
from strukt.data.constituents.bracket_syntax import TOKEN

_text = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="() \t\n\r\f\v\0"), min_size=1, max_size=4
)
words = st.sampled_from(["a", "-LRB-", "b-RRB-c", "it's", "-", "=", "#", "ROOT", "\xa0"]) | _text
tags = st.sampled_from(["NN", "DT", ".", ",", "-LRB-", "PRP$"]) | _text.filter(lambda tag: tag != TRACE)
labels = st.sampled_from(["S", "NP", "NP-SBJ", "NP-SBJ-1=2", "VP", "ADVP|PRT", "PRT", "ROOT"]) | _text


@st.composite
def trees(draw, longest=8, trace=False):
    """A tree of 1 to `longest` words, with chains of up to 3 constituents; with `trace` it may have traces."""
    length = draw(st.integers(1, longest))
    constituents = [(0, length, "")] if draw(st.booleans()) else []
    waiting = [(0, length)]
    while waiting:
        start, end = waiting.pop()
        constituents += [(start, end, label) for label in draw(st.lists(labels, max_size=3))]
        if end - start > 1:
            inner = draw(st.sets(st.integers(start + 1, end - 1), min_size=1))
            borders = [start, *sorted(inner), end]
            waiting += reversed(list(pairwise(borders)))
    tag = tags | st.just(TRACE) if trace else tags
    drawn = draw(st.lists(tag, min_size=length, max_size=length))
    if set(drawn) == {TRACE}:
        drawn[draw(st.integers(0, length - 1))] = "NN"
    return Tree.build(draw(st.lists(words, min_size=length, max_size=length)), drawn, constituents)


@st.composite
def layouts(draw, tree):
    """The lines of a tree in some layout, the first of which begins with its first bracket."""
    tokens = [match[0] for match in TOKEN.finditer(str(tree))]
    if draw(st.booleans()):
        return str(tree)
    text = tokens[0]
    for before, token in pairwise(tokens):
        space = st.sampled_from([" ", "\t", "\n ", "\n\t  "])
        are_words = before not in "()" and token not in "()"
        text += (draw(space) if are_words else draw(space | st.just(""))) + token
    return text


def gum_files():
    """The paths of GUM's bracket files; skips the test where they are not present."""
    return sorted(shared("gum/const").glob("*.ptb"))
