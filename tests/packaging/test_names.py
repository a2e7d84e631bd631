"""Packages of strukt are attributes without imports of their own; errors say how to get those with extras."""

import subprocess
import sys

import pytest

import strukt

PROGRAM = """
import sys
import strukt
assert "torch" not in sys.modules
for name in strukt._PACKAGES:
    assert getattr(strukt, name).__name__ == f"strukt.{name}"
assert strukt.nn.CRF(3).tags == 3
"""


def test_packages_without_extras_are_loaded_on_first_use():
    subprocess.run([sys.executable, "-c", PROGRAM], check=True)


@pytest.mark.parametrize("name", ["hf", "sklearn"])
def test_packages_with_extras_are_imported_by_their_users(name):
    with pytest.raises(AttributeError, match=rf"no attribute '{name}'; write `import strukt\.{name}` first"):
        strukt.__getattr__(name)
