"""Tables, curves, graphs and lattices in a terminal: all that there is, in no more columns than there are."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strukt.viz import Curves, Graph, HeatMap, Interactions, Lattice
from strukt.viz.canvas.terminal import COLOURED, bar, shade
from strukt.viz.canvas.width import display_width
from strukt.viz.terminal import draw

NAME = st.text("ab国<&\x1b e\u0301", min_size=1, max_size=12)
NUMBER = st.floats(-100, 100).map(lambda value: round(value, 2))


def words(minimum=1, maximum=6):
    return st.lists(NAME, min_size=minimum, max_size=maximum)


@st.composite
def heat_maps(draw):
    rows, columns = draw(words()), draw(words(maximum=9))
    values = draw(st.lists(st.lists(NUMBER, min_size=len(columns), max_size=len(columns)),
                           min_size=len(rows), max_size=len(rows)))  # fmt: skip
    return HeatMap("title", rows, columns, values)


@st.composite
def curves(draw):
    places = draw(words())
    names = draw(st.lists(NAME, min_size=1, max_size=5, unique=True))
    values = st.lists(NUMBER, min_size=len(places), max_size=len(places))
    return Curves("title", places, {name: draw(values) for name in names})


@st.composite
def lattices(draw):
    forms, tags = draw(words(maximum=4)), draw(words(maximum=3))
    share = st.floats(0, 1)
    row = st.lists(share, min_size=len(tags), max_size=len(tags))
    table = st.lists(row, min_size=len(tags), max_size=len(tags))
    rows = draw(st.lists(row, min_size=len(forms), max_size=len(forms)))
    steps = draw(st.lists(table, min_size=len(forms) - 1, max_size=len(forms) - 1))
    return Lattice(forms, tags, rows, steps, "title")


@st.composite
def graphs(draw):
    names = draw(words())
    row = st.lists(st.floats(0, 1), min_size=len(names), max_size=len(names))
    weights = draw(st.lists(row, min_size=len(names), max_size=len(names)))
    if draw(st.booleans()):
        return Graph("title", names, weights)
    both = [[weights[min(i, j)][max(i, j)] for j in range(len(names))] for i in range(len(names))]
    return Interactions("title", names, both, [(0, node) for node in range(1, len(names))])


@settings(max_examples=30)
@given(st.one_of(heat_maps(), curves(), lattices(), graphs()), st.integers(60, 120))
def test_nothing_is_wider_than_the_terminal_nor_steers_it(picture, width):
    drawn = draw(picture, width)
    assert all(display_width(line) <= width for line in drawn.splitlines())
    assert "\x1b" not in drawn
    assert drawn.splitlines()[0].startswith("title")
    assert re.sub(r"\x1b\[[\d;]*m", "", draw(picture, width, COLOURED)).split() == drawn.split()


@settings(max_examples=30)
@given(heat_maps(), st.integers(40, 120))
def test_every_number_of_a_table_stands_once_in_its_column(heat_map, width):
    _, *blocks = draw(heat_map, width).split("\n\n")
    assert all(len(block.split("\n")) == len(heat_map.rows) + 1 for block in blocks)
    shown = sorted(re.findall(r"-?\d+(?:\.\d\d)?(?=\s|$)", " ".join(blocks)))
    assert shown == sorted(number for row in heat_map.numbers() for number in row)


@settings(max_examples=30)
@given(curves(), st.integers(40, 120))
def test_longer_bars_are_larger_numbers(picture, width):
    places = len(picture.places)
    blocks = draw(picture, width).split("\n\n")[1:]
    heights = [height for values in picture.heights().values() for height in values]
    if max(heights) > 0:
        assert any("█" * 6 in block for block in blocks), "the largest number has a whole bar"
    assert all(len(block.split("\n")) == places + 1 for block in blocks)


def test_columns_that_do_not_fit_follow_below():
    table = HeatMap("T", ["row"], ["first", "second", "third"], [[1, 2, 3]])
    assert draw(table, 26).splitlines() == [
        "T",
        "",
        "       first    second",
        "row    1      ▒ 2",
        "",
        "       third",
        "row  █ 3",
    ]


def test_a_lattice_tells_states_and_steps_from_the_most_probable_on():
    lattice = Lattice(
        ["old", "man"], ["ADJ", "NOUN"], [[0.3, 0.7], [0.0, 1.0]], [[[0.0, 0.3], [0.0, 0.7]]], "tags"
    )
    assert draw(lattice).splitlines() == [
        "tags",
        "old  ▓ NOUN .70  ▒ ADJ .30",
        "│    NOUN → NOUN .70  ADJ → NOUN .30",
        "man  █ NOUN 1.0",
    ]
    assert draw(lattice, 20).splitlines() == [
        "tags",
        "old  ▓ NOUN .70",
        "│    ▒ ADJ .30",
        "│    NOUN → NOUN .70",
        "│    ADJ → NOUN .30",
        "man  █ NOUN 1.0",
    ]


def test_scales_of_curves_are_named():
    assert draw(Curves("error", ["a", "b"], {"x": [0.01, 100.0]})).startswith(
        "error (bars from 0.01 to 100, in equal factors)\n"
    )
    assert draw(Curves("error", [], {})) == "error"


@pytest.mark.parametrize("columns", [1, 3, 10])
def test_bars_grow_by_eighths(columns):
    bars = [bar(eighths / (8 * columns), columns) for eighths in range(8 * columns + 1)]
    assert len(set(bars)) == len(bars)
    assert bars[-1] == "█" * columns
    assert all(len(each) <= columns for each in bars)


def test_shades_grow():
    assert "".join(map(shade, [0.0, 0.2, 0.4, 0.6, 1.0])) == " ░▒▓█"
