"""Every example prints what it promises, also by itself."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from tests.notice import without_notice

from strukt.testing.law import LAWS

FOLDER = Path(__file__).parents[2] / "examples"
GUIDES = FOLDER.parent / "docs" / "guides"
PROMISES = {
    "crf_tagger.py": "parity right on 100.0% of a sequence of 500 bits",
    "feature_chain.py": "Is/O Norway/B far/O from/O Bergen/B ?/O",
    "guided_generation.py": "200 of 200 guided sentences meet it",
    "hidden_markov_model.py": "3 states; 100.0% of the minutes are in the right one",
    "hugging_face_tagger.py": "PER Grace Turing from 0 to 12",
    "onnx_tagger.py": "wrong bits: 19.8% received, 13.1% tagged",
    "own_factor.py": "derivatives: 0.25 by score, -0.25 by price",
    "own_structure.py": "a ring keeps every law",
    "own_table.py": "pairs: [(0, 1), (4, 6), (3, 7)]",
    "spacy_pipeline.py": "the words that the models read: ['The', 'dog', 'likes', 'a', 'fish', '.']",
    "speech.py": "with n-grams: the cat ran to a dog",
    "tree_uncertainty.py": "given that the stars have the telescopes: [2, 0, 2, 5, 3]",
}

ELSEWHERE = {
    "guided_generation.py", "hugging_face_tagger.py", "onnx_tagger.py", "own_structure.py", "spacy_pipeline.py"
}  # fmt: skip
"""Long ones. Guides show the code of most, which tests/docs runs. A test below checks the ring, and
tests/onnx/test_mode.py exports a structure."""

ALLOWED = ("-W", "ignore:`isinstance(treespec, LeafSpec)` is deprecated:FutureWarning")
"""PyTorch's own warning, when it exports a loop."""

EXPORTER = "torchvision is not installed|Removing initializer"
"""PyTorch and onnxruntime tell this of every graph."""


def test_every_example_is_run():
    assert {path.name for path in FOLDER.glob("*.py")} == set(PROMISES)


@pytest.mark.parametrize("name", sorted(PROMISES.keys() - ELSEWHERE))
@pytest.mark.filterwarnings("ignore:`isinstance.treespec, LeafSpec.` is deprecated:FutureWarning")  # PyTorch's own
def test_example(name, capsys):
    runpy.run_path(str(FOLDER / name), run_name="__main__")
    assert PROMISES[name] in capsys.readouterr().out


def test_the_ring_is_what_its_enumeration_says():
    ring = runpy.run_path(str(FOLDER / "own_structure.py"))["SUBJECT"]
    for law in ("operators_agree_with_enumeration", "mode_is_the_best_structure", "samples_are_reproducible"):
        LAWS[law].check(ring)


@pytest.mark.slow  # each in a process, which imports everything
@pytest.mark.parametrize("name", sorted(PROMISES))
def test_an_example_by_itself_says_nothing_else(name):
    done = subprocess.run(
        [sys.executable, "-W", "error", *ALLOWED, FOLDER / name], capture_output=True, text=True, timeout=300
    )
    told = without_notice(done.stderr).splitlines(True)
    assert "".join(line for line in told if not re.search(EXPORTER, line)) == ""
    assert PROMISES[name] in done.stdout


def shown_and_code(guide: str, example: str) -> tuple[str, list[str], str]:
    """The text of a guide, its blocks of Python, and the code of an example behind its first line."""
    text = (GUIDES / guide).read_text(encoding="utf-8")
    _, code = (FOLDER / example).read_text(encoding="utf-8").split('"""\n\n', 1)
    return text, re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL), code


def test_the_guide_shows_the_whole_example():
    guide, (table, *shown), code = shown_and_code("your-own-structure.md", "own_structure.py")
    assert "".join(shown).split() == code.split()
    assert all(block in code for block in shown)
    assert PROMISES["own_structure.py"] in guide
    assert shown_and_code("your-own-structure.md", "own_table.py")[2] == table
    assert PROMISES["own_table.py"] in guide


def test_the_guide_shows_the_whole_tagger_on_an_encoder():
    guide, shown, code = shown_and_code("hugging-face.md", "hugging_face_tagger.py")
    assert "".join(shown).split()[: len(code.split())] == code.split()
    assert PROMISES["hugging_face_tagger.py"] in guide


def test_the_guide_shows_the_whole_guided_generation():
    guide, shown, code = shown_and_code("guided-generation.md", "guided_generation.py")
    assert "".join(shown).split()[: len(code.split())] == code.split()
    assert PROMISES["guided_generation.py"] in guide


def test_the_guide_shows_the_whole_factor():
    guide, shown, code = shown_and_code("factor-graphs.md", "own_factor.py")
    assert code in shown
    assert PROMISES["own_factor.py"] in guide


def test_the_guide_shows_the_whole_pipeline():
    _, shown, code = shown_and_code("spacy.md", "spacy_pipeline.py")
    assert shown == [code]
