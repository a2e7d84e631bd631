"""One function draws every kind of diagram."""

import pytest

from strukt.viz.pictures.overlay.picture import Overlay
from strukt.viz.pictures.recursion import Recursion
from strukt.viz.terminal import draw


def test_what_has_no_drawing_is_refused():
    for other in ("Stop", Recursion([[0], [1]], [0], {}, [], 1), Overlay([], {}, 2, 1.0, 0)):
        name = type(other).__name__
        with pytest.raises(
            TypeError, match=rf"^diagram is of type {name}; expected a picture with .* 'terminal'"
        ):
            draw(other)
