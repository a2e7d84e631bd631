"""The package has all names that it lists, and no others."""

import pytest

from strukt import viz


@pytest.mark.parametrize("name", viz.__all__)
def test_every_name_is_there(name):
    assert getattr(viz, name).__name__ == name


def test_others_are_not():
    with pytest.raises(AttributeError, match=r"module 'strukt\.viz' has no attribute 'Diagramm'"):
        _ = viz.Diagramm
