"""Every example runs by itself and prints what it promises."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples"
GUIDE = FOLDER.parent / "docs" / "guides" / "your-own-structure.md"
PROMISES = {
    "crf_tagger.py": "parity right on 100.0% of a sequence of 500 bits",
    "own_structure.py": "a ring keeps every law",
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


def test_the_guide_shows_the_whole_example():
    guide = GUIDE.read_text(encoding="utf-8")
    shown = re.findall(r"^```python\n(.*?)^```", guide, re.MULTILINE | re.DOTALL)
    _, code = (FOLDER / "own_structure.py").read_text(encoding="utf-8").split('"""\n\n', 1)
    assert "".join(shown).split() == code.split()
    assert all(block in code for block in shown)
    assert PROMISES["own_structure.py"] in guide
