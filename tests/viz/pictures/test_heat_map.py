"""Heat maps: the tables that are accepted, their descriptions, and every number readable in its cell."""

import math
import re
import xml.etree.ElementTree as ElementTree

import pytest
from tests.viz.told import NAMESPACE, elements

from strukt.viz import HeatMap
from strukt.viz.canvas.colour import channels, luminance
from strukt.viz.canvas.svg import text_width
from strukt.viz.pictures.heat_map import SHADE
from strukt.viz.svg import STYLE, draw

DISTANCES = HeatMap("Distance", ["NP", "VP"], ["NP", "VP", "WHADVP"], [[0, 3, 5], [3, 0, 1]])


@pytest.mark.parametrize("values", [[], [[1, 2]], [[1, 2], [3]], [[1, 2], [3, 4], [5, 6]]])
def test_there_is_a_number_for_each_row_and_column(values):
    with pytest.raises(ValueError, match=r"^values has \d (rows|numbers in row '\w'); expected 2"):
        HeatMap("T", ["a", "b"], ["c", "d"], values)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_numbers_are_finite(value):
    with pytest.raises(ValueError, match=rf"^values has {value} in row 'b'; expected finite numbers"):
        HeatMap("T", ["a", "b"], ["c"], [[0.0], [value]])


def test_equal_numbers_have_no_shade():
    assert HeatMap("T", ["a"], ["b", "c"], [[7, 7]]).shades() == [[0, 0]]


def test_numbers_are_written_alike():
    assert HeatMap("T", ["a"], ["b", "c"], [[1, 10.0]]).numbers() == [["1", "10"]]
    assert HeatMap("T", ["a"], ["b", "c"], [[1, 0.256]]).numbers() == [["1.00", "0.26"]]
    assert HeatMap("T", ["a"], ["b", "c"], [[-0.001, -0.5]]).numbers() == [["0.00", "-0.50"]]
    assert HeatMap("T", ["a"], ["b"], [[-0.0]]).numbers() == [["0"]]


def test_every_number_stands_in_its_cell_and_in_the_description():
    numbers, cells = elements(draw(DISTANCES), "text", "number"), elements(draw(DISTANCES), "rect", "cell")
    assert [number.text for number in numbers] == ["0", "3", "5", "3", "0", "1"]
    assert DISTANCES.description() == (
        "Distance: NP × NP 0, NP × VP 3, NP × WHADVP 5, VP × NP 3, VP × VP 0, VP × WHADVP 1"
    )
    for number, cell in zip(numbers, cells, strict=True):
        x, y, width, height = (float(cell.get(name)) for name in ("x", "y", "width", "height"))
        half = text_width(number.text, 12.0) / 2
        assert x + half < float(number.get("x")) < x + width - half
        assert y < float(number.get("y")) < y + height


def test_rows_and_columns_have_their_names():
    labels = elements(draw(DISTANCES), "text", "label")
    assert [label.text for label in labels] == ["NP", "VP", "WHADVP", "NP", "VP"]
    cells = elements(draw(DISTANCES), "rect", "cell")
    for label, cell in zip(labels[:3], cells[:3], strict=True):
        assert float(label.get("x")) == float(cell.get("x")) + float(cell.get("width")) / 2
    for label, cell in zip(labels[3:], cells[::3], strict=True):
        assert float(label.get("x")) + text_width(label.text, 12.0) / 2 < float(cell.get("x"))


def test_larger_numbers_have_stronger_shades():
    shades = [float(cell.get("fill-opacity")) for cell in elements(draw(DISTANCES), "rect", "cell")]
    assert shades == pytest.approx([0, 0.6 * SHADE, SHADE, 0.6 * SHADE, 0, 0.2 * SHADE])


def test_everything_lies_inside_the_picture():
    for heat_map in (DISTANCES, HeatMap("A title that is longer than its table", ["a"], ["b"], [[1]])):
        picture = ElementTree.fromstring(draw(heat_map))
        width, height = float(picture.get("width")), float(picture.get("height"))
        for text in picture.iter(NAMESPACE + "text"):
            half = text_width(text.text, 12.0) / 2
            assert half <= float(text.get("x")) <= width - half
            assert 0 < float(text.get("y")) < height


def test_an_empty_table_is_a_title():
    assert [title.text for title in elements(draw(HeatMap("Nothing", [], [], [])), "text", "title")] == ["Nothing"]


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_numbers_can_be_read_on_the_strongest_shade(scheme):
    colours = dict(re.findall(r"--(\w+): (#\w{6})", re.findall(r"\.strukt \{ (--.*?)\}", STYLE)[scheme]))
    pairs = zip(channels(colours["label"]), channels(colours["paper"]), strict=True)
    cell = "#" + "".join(f"{round(SHADE * over + (1 - SHADE) * under):02x}" for over, under in pairs)
    dark, light = sorted((luminance(cell), luminance(colours["ink"])))
    assert (light + 0.05) / (dark + 0.05) > 4.5
