"""Constituents and entities in the terminal: fixed pictures, and laws for random ones."""

import re
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from tests.viz.pictures.brackets.test_picture import diagrams
from tests.viz.pictures.dependency_tree.test_terminal import cells

from strukt.viz import Bracket, BracketDiagram
from strukt.viz.canvas.terminal import COLOURED
from strukt.viz.canvas.width import display_width
from strukt.viz.terminal import draw

LABEL = st.sampled_from(["S", "NP", "WHADVP-TMP", "国境", "e\u0301"])


def deep(depth):
    """A chain of brackets, each without the first word of the one around it."""
    return BracketDiagram(["w"] * depth, [Bracket(f"X{start}", start, depth) for start in range(depth)])


def test_a_tree_with_tags():
    brackets = [Bracket("S", 0, 3), Bracket("NP", 0, 2), Bracket("VP", 2, 3)]
    tree = BracketDiagram(["The", "dog", "barks"], brackets, ["DT", "NN", "VBZ"])
    assert draw(tree).split("\n") == [
        "       S",
        "   ╭───┴────╮",
        "   NP       VP",
        " ╭─┴──╮     │",
        " DT   NN   VBZ",
        "The  dog  barks",
    ]


def test_codes_and_probabilities_stand_beside_their_label():
    brackets = [Bracket("S", 0, 2, 0xA, 0.987), Bracket("NP", 0, 1, 0x1F)]
    assert draw(BracketDiagram(["Dogs", "bark"], brackets, bits=9)).split("\n") == [
        " S 00a .99",
        "  ╭──┴───╮",
        "NP 01f   │",
        "  │      │",
        " Dogs   bark",
    ]


def test_wide_characters_take_two_columns():
    phrases = [Bracket("名詞句", 0, 3), Bracket("NP", 0, 2)]
    assert draw(BracketDiagram(["国境", "の", "トンネル"], phrases)).split("\n") == [
        "      名詞句",
        "   ╭────┴────╮",
        "   NP        │",
        " ╭─┴──╮      │",
        "国境  の  トンネル",
    ]


def test_a_bracket_without_label_is_a_line():
    picture = draw(BracketDiagram(["Dogs", "bark"], [Bracket("", 0, 2)]))
    assert picture.split("\n")[0].strip() == "│"


def test_control_characters_do_not_reach_the_terminal():
    tree = BracketDiagram(["a\nb", "\x1b[31m"], [Bracket("N\x1bP", 0, 2)], ["\r", "T"])
    for width in (80, 5):
        assert not re.search(r"[\x00-\x09\x0b-\x1f]", draw(tree, width))
        assert "N�P" in draw(tree, width)


def test_words_alone_stand_plain():
    assert draw(BracketDiagram([], [])) == ""
    assert draw(BracketDiagram(["Dogs", "bark"], [], ["N", "V"])) == " N     V\nDogs  bark"


def test_sixty_words_that_do_not_fit_become_an_outline():
    tree = BracketDiagram(["word"] * 60, [Bracket("S", 0, 60), Bracket("NP", 30, 60)])
    assert "┴" in draw(tree, 358)
    assert draw(tree, 357).startswith("S\n├─ word word")
    assert all(display_width(line) <= 40 for line in draw(tree, 40).split("\n"))


def test_thousands_of_brackets_need_no_recursion():
    assert draw(deep(3000), width=80).split("\n")[-1] == "2999 X2999─ w"


def test_colour_changes_nothing_but_codes():
    tree = BracketDiagram(
        ["Dogs", "bark"], [Bracket("S", 0, 2, 1, 0.5), Bracket("NP", 0, 1, 254)], ["N", "V"], 8
    )
    for width in (80, 10):
        coloured = draw(tree, width, COLOURED)
        assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == draw(tree, width)
        one, other = (re.search(rf"\x1b\[(38;5;\d+)m{code}\x1b", coloured)[1] for code in ("01", "fe"))
        assert one != other


@given(diagrams(labels=LABEL))
def test_every_label_has_its_place(tree):
    lines = draw(tree, width=1000).split("\n")
    height = max(tree.levels(), default=0)
    for level in range(1, height + 1):
        expected = [b.label for b, at in zip(tree.brackets, tree.levels(), strict=True) if at == level]
        assert re.findall(r"[^ │]+", lines[2 * (height - level)]) == expected
    assert lines[-1].split() == list(tree.forms)


@given(diagrams())
def test_following_a_line_upwards_leads_to_the_parent(tree):
    names = [f"b{place}" for place in range(len(tree.brackets))]
    named = [replace(bracket, label=name) for bracket, name in zip(tree.brackets, names, strict=True)]
    lines = draw(replace(tree, brackets=named), width=1000).split("\n")
    for place, parts in tree.children().items():
        for part in parts:
            name = tree.forms[part.start] if part.bracket is None else names[part.bracket]
            assert above(lines, name) == (None if place is None else names[place])


def above(lines, name):
    """The label that the line above a name comes from, if there is one."""
    row = next(row for row, line in enumerate(lines) if name in line.split())
    start = next(match.start() for match in re.finditer(r"\S+", lines[row]) if match[0] == name)
    column = start + (len(name) - 1) // 2
    while row and at(lines, row - 1, column) == "│":
        row -= 1
    if row and at(lines, row - 1, column) in "╭╮┬┴┼├┤":
        bar = next(m for m in re.finditer(r"[╭╮┬┴┼├┤─]+", lines[row - 1]) if m.start() <= column < m.end())
        column = next(place for place in range(*bar.span()) if lines[row - 1][place] in "┴┼├┤")
        row -= 1
    labels = re.finditer(r"\w+", lines[row - 1] if row else "")
    return next((match[0] for match in labels if match.start() <= column < match.end()), None)


def at(lines, row, column):
    return lines[row][column : column + 1] or " "


@given(diagrams(labels=LABEL), st.integers(18, 60))
def test_no_picture_is_wider_than_the_terminal(tree, width):
    """The widest label with a depth before it and a word behind it takes 17 columns."""
    assert all(len(cells(line)) <= width for line in draw(tree, width).split("\n"))
