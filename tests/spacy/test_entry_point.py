"""spaCy finds the component of an installed strukt without any import of it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import strukt
from strukt.errors import MissingExtraError

ROOT = Path(__file__).parents[2]
ENTRY = 'strukt = "strukt.spacy:make_component"'

USE = """
import sys
import spacy
nlp = spacy.blank("en")  # which imports what all entry points name
assert "strukt.spacy" in sys.modules and "strukt.tasks" not in sys.modules
nlp.add_pipe("strukt", name="tagger", config={"model": sys.argv[1]})
print(type(nlp.get_pipe("tagger")).__module__, nlp("the cat")[1].tag_)
"""

WITHOUT = """
import sys
sys.modules["spacy"] = None
import strukt
import strukt.spacy
"""


def test_the_entry_point_is_found(folder_of, tmp_path):
    pytest.importorskip("spacy", reason='needs spaCy: pip install "strukt[spacy]"')
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f"[project.entry-points.spacy_factories]\n{ENTRY}\n" in project
    installed = tmp_path / "strukt_entry-0.dist-info"  # as pip would write it from these lines
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: strukt-entry\nVersion: 0\n")
    (installed / "entry_points.txt").write_text(f"[spacy_factories]\n{ENTRY.replace(chr(34), '')}\n")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    done = subprocess.run(
        [sys.executable, "-c", USE, folder_of("tagger")],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
    )
    assert done.stdout == "strukt.spacy.component NN\n", done.stderr


def test_without_spacy_the_extra_is_named():
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, timeout=300, env=environment
    )
    assert str(MissingExtraError("spacy", "spacy")) in done.stderr


def test_strukt_does_not_import_spacy():
    code = (
        "import sys, strukt; strukt.LinearChain; print(any(m.split('.')[0] == 'spacy' for m in sys.modules))"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(strukt.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.stdout == "False\n"
