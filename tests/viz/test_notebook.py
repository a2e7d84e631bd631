"""Curves and tables are drawn in matplotlib, too; what has pictures does not load what draws them."""

import subprocess
import sys

import pytest

from strukt.viz import Curves, HeatMap

CURVES = Curves("error", ["1-5", "6-10"], {"with": [1.0, 2.0], "without": [2.0, 3.0]})
TABLE = HeatMap("attention", ["a"], ["b", "c"], [[0.25, 0.75]])
def test_what_has_pictures_does_not_load_what_draws_them():
    script = "import sys, strukt.data.conllu; print([name for name in sys.modules if 'strukt.viz' in name])"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"


@pytest.fixture
def plots():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from strukt.viz import plots

    yield plots
    matplotlib.pyplot.close("all")


def test_curves_in_matplotlib(plots):
    axes = plots.plot_curves(CURVES)
    assert [list(line.get_ydata()) for line in axes.get_lines()] == [[1.0, 2.0], [2.0, 3.0]]
    assert [label.get_text() for label in axes.get_legend().get_texts()] == ["with", "without"]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1-5", "6-10"]
    assert axes.get_yscale() == "linear"
    assert plots.plot_curves(Curves("x", ["1", "2"], {"y": [0.01, 100.0]}), axes) is axes
    assert axes.get_yscale() == "log"


def test_tables_in_matplotlib(plots):
    axes = plots.plot_heat_map(TABLE)
    assert [text.get_text() for text in axes.texts] == ["0.25", "0.75"]
    assert axes.get_images()[0].get_array().tolist() == [[0.25, 0.75]]
    assert [text.get_color() for text in axes.texts] == ["black", "white"]  # the darkest cell is nearly black
