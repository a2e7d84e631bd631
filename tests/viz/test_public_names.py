"""The package, which loads names when they are asked for, has no others than those that it lists."""

import pytest

from strukt import viz


def test_others_are_not():
    with pytest.raises(AttributeError, match=r"module 'strukt\.viz' has no attribute 'Diagramm'"):
        _ = viz.Diagramm
