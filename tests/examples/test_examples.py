"""Every example runs by itself and prints what it promises."""

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples"
PROMISES = {
    "crf_tagger.py": "parity right on 100.0% of a sequence of 500 bits",
    "tree_uncertainty.py": "given that the stars have the telescopes: [2, 0, 2, 5, 3]",
}


def test_every_example_is_run():
    assert {path.name for path in FOLDER.glob("*.py")} == set(PROMISES)


@pytest.mark.parametrize("name", sorted(PROMISES))
def test_example(name):
    done = subprocess.run(
        [sys.executable, "-W", "error", FOLDER / name], capture_output=True, text=True, timeout=300
    )
    assert done.stderr == ""
    assert PROMISES[name] in done.stdout
