"""Trees in the terminal: fixed pictures, and laws for random trees."""

import random
import re
from textwrap import dedent

import pytest
from tests.viz.pictures.dependency_tree.test_picture import random_tree

from strukt.viz import Diagram
from strukt.viz.canvas.terminal import COLOURED
from strukt.viz.canvas.width import clusters, display_width
from strukt.viz.pictures.dependency_tree.terminal import fold, listing
from strukt.viz.terminal import draw

HEARING = Diagram(
    "A hearing is scheduled on the issue today .".split(),
    heads=[2, 4, 4, 0, 2, 7, 5, 4, 4],
    relations="det nsubj:pass aux:pass root nmod det case advmod punct".split(),
)
RELATIONS = ["det", "nsubj", "root", "punct"]


def cells(line: str) -> list[str]:
    """One entry per column of a line."""
    return [cell for cluster, columns in clusters(line) for cell in (cluster, *[""] * (columns - 1))]


def test_a_tree_without_crossing_arcs():
    diagram = Diagram(["The", "dog", "barks", "."], ["DT", "NN", "VBZ", "."], [2, 3, 0, 3], RELATIONS)
    assert draw(diagram) == dedent("""\
                    root
         ╭det╮╭nsubj╮│╭punct╮
         ▼   │▼     │▼│     ▼
        The  dog   barks    .
         DT   NN    VBZ     .""")


def test_a_label_never_hides_a_crossing_line():
    picture = draw(HEARING).split("\n")
    nmod = next(line for line in picture if "nmod" in line)
    assert re.search(r"nmod─*│", nmod), "the arc to the root word crosses nmod beside its label"


def test_wide_characters_stand_below_their_arrows():
    diagram = Diagram(["国境", "の", "トンネル"], ["N", "P", "N"], [3, 1, 0], ["nmod", "case", "root"])
    lines = draw(diagram).split("\n")
    arrows, words = cells(lines[-3]), cells(lines[-2])
    columns = [column for column, cell in enumerate(arrows) if cell == "▼"]
    assert all((words[column] or words[column - 1]).strip() for column in columns)


def test_a_tree_wider_than_the_terminal_has_one_word_a_line():
    lines = draw(HEARING, width=48).split("\n")
    assert len(lines) == 9
    assert lines[1].endswith("2  hearing    nsubj:pass ← 4 scheduled")
    assert all(display_width(line) <= 48 for line in lines)


def test_arcs_give_way_when_there_is_no_room_for_them():
    lines = draw(HEARING, width=38).split("\n")
    assert lines[0] == "1  A          det ← 2 hearing"


def test_tags_alone_are_folded():
    picture = draw(Diagram("one two three".split(), "NUM NUM NUM".split()), width=9)
    assert picture == "one  two\nNUM  NUM\n\nthree\nNUM"


def test_probabilities_are_shown():
    picture = draw(Diagram(["Dogs", "bark"], ["N", "V"], [2, 0], ["nsubj", "root"], [0.9, 0.25], [0.5, 1.0]))
    assert "nsubj .50" in picture
    assert "root 1.0" in picture
    assert picture.split("\n")[-1].split() == [".90", ".25"]


def test_the_unlabelled_root_is_named():
    assert draw(Diagram(["Stop"], heads=[0])).split("\n")[0].strip() == "root"


def test_colour_changes_nothing_but_codes():
    assert re.sub(r"\x1b\[\d*m", "", draw(HEARING, palette=COLOURED)) == draw(HEARING)


@pytest.mark.parametrize("seed", range(10))
def test_every_word_has_one_arrow_and_every_label_is_shown(seed):
    generator = random.Random(seed)
    words = generator.randint(1, 9)
    relations = [f"r{word}" for word in range(words)]
    forms = [f"w{word}" * generator.randint(1, 3) for word in range(words)]
    picture = draw(Diagram(forms, (), random_tree(words, generator), relations), width=1000)
    assert picture.count("▼") == words
    assert picture.split("\n")[-1].split() == forms
    assert all(re.search(rf"\b{relation}\b", picture) for relation in relations)


@pytest.mark.parametrize("seed", range(10))
def test_following_a_line_from_an_arrow_leads_to_the_head(seed):
    generator = random.Random(seed)
    diagram = Diagram([f"w{word}" for word in range(8)], (), random_tree(8, generator))
    lines = [cells(line) for line in draw(diagram, width=1000).split("\n")]
    arrows = [column for column, cell in enumerate(lines[-2]) if cell == "▼"]
    for word, head in enumerate(diagram.heads):
        if head:
            assert reached_from(lines, len(lines) - 2, arrows[word], arrows) == head - 1


def reached_from(lines: list[list[str]], row: int, column: int, arrows: list[int]) -> int:
    """Follows the line above an arrow to its corner, then to where a leg begins; gives the nearest word."""
    while lines[row][column] not in "╭╮":
        row -= 1
    step = 1 if lines[row][column] == "╭" else -1
    column += step
    while lines[row][column] in "─│":
        column += step
    assert lines[row][column] in "╭╮├┤"
    return min(range(len(arrows)), key=lambda word: abs(arrows[word] - column))


FOX = Diagram(
    "The quick brown fox jumps".split(),
    "DT JJ JJ NN VBZ".split(),
    [4, 4, 4, 5, 0],
    "det amod amod nsubj root".split(),
)


def test_arcs_stand_left_of_the_words():
    assert listing(FOX, 60, {}).split("\n") == [
        "╭─────▶ 1  The    DT   det ← 4 fox",
        "│ ╭───▶ 2  quick  JJ   amod ← 4 fox",
        "│ │ ╭─▶ 3  brown  JJ   amod ← 4 fox",
        "╰─┴─┼─▶ 4  fox    NN   nsubj ← 5 jumps",
        "    ╰─▶ 5  jumps  VBZ  root",
    ]


def test_no_line_is_wider_than_the_terminal():
    widest_table = max(display_width(line) for line in listing(FOX, 1, {}).split("\n"))
    for width in range(30, 60):
        assert all(display_width(line) <= max(width, widest_table) for line in listing(FOX, width, {}).split("\n"))


@pytest.mark.parametrize("width", [1, 10, 20, 33])
def test_folding_keeps_every_word_in_order(width):
    words = [f"word{number}" for number in range(20)]
    picture = fold(Diagram(words, ["T"] * 20), width, {})
    assert re.findall(r"word\d+", picture) == words
    assert all(display_width(line) <= max(width, 6) for line in picture.split("\n"))


def test_wide_words_keep_tags_aligned():
    words, tags = fold(Diagram(["国境", "a"], ["N", "DET"]), 40, {}).split("\n")
    assert (words, tags) == ("国境  a", "N     DET")


def test_without_words_there_is_the_title_without_a_newline():
    assert draw(Diagram([])) == ""
    assert draw(Diagram([], title="value 3")) == "value 3"
