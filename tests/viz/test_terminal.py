"""One function draws every kind of diagram."""

import pytest

from strukt.viz import Bracket, BracketDiagram, Diagram
from strukt.viz.terminal import draw


def test_arcs_and_brackets_are_drawn():
    assert "▼" in draw(Diagram(["Stop"], heads=[0]))
    assert draw(BracketDiagram(["Stop"], [Bracket("VP", 0, 1)])) == " VP\n │\nStop"


def test_what_has_no_drawing_is_refused():
    with pytest.raises(TypeError, match=r"^diagram: got a str, expected a Diagram or BracketDiagram"):
        draw("Stop")
