"""Only the module that needs a package of an extra imports it, and names the extra where it is missing."""

import subprocess
import sys

import pytest

from strukt.errors import MissingExtraError

CODE = """
import importlib, sys
import strukt, strukt.nn
assert strukt.LinearChain and strukt.nn.MeanFieldEncoder
assert not {"spacy", "strukt.spacy", "strukt.hf"} & sys.modules.keys()
for package, module in (("spacy", "strukt.spacy"), ("transformers", "strukt.hf")):
    sys.modules[package] = None  # as if it were not installed
    try:
        importlib.import_module(module)
    except strukt.MissingExtraError as error:
        print(error)
"""


@pytest.mark.slow
def test_the_extra_is_named():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, timeout=300)
    extras = ("spacy", "spacy"), ("transformers", "hf")
    assert done.stdout.splitlines() == [str(MissingExtraError(*extra)) for extra in extras], done.stderr
