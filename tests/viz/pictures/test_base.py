"""The functions that draw pictures are found by the name of the canvas, beside the class of the picture."""

import inspect
import pkgutil
from importlib import import_module

import pytest

from strukt.viz import pictures
from strukt.viz.pictures.base import Picture, renderer
from strukt.viz.terminal import draw

MODULES = {each.name: each.ispkg for each in pkgutil.iter_modules(pictures.__path__) if each.name != "base"}


class Note(Picture):
    """A picture of another package."""

    def description(self):
        return "A note."


@pytest.mark.parametrize("name", MODULES)
def test_every_file_and_folder_has_one_picture_that_is_drawn_as_svg(name):
    module = f"strukt.viz.pictures.{name}"
    home = f"{module}.picture" if MODULES[name] else module
    classes = inspect.getmembers(import_module(home), inspect.isclass)
    (kind,) = (kind for _, kind in classes if issubclass(kind, Picture) and kind.__module__ == home)
    drawer = renderer(object.__new__(kind), "svg")
    assert (drawer.__module__, drawer.__name__) == (f"{module}.svg" if MODULES[name] else module, "svg")


def test_pictures_of_other_packages_are_drawn_too(monkeypatch):
    monkeypatch.setitem(globals(), "terminal", lambda note, width, palette: "(note)"[:width])
    assert draw(Note(), 3) == "(no"
    with pytest.raises(
        TypeError, match=r"^diagram is of type Note; expected a picture with a function 'matplotlib'"
    ):
        renderer(Note(), "matplotlib")
