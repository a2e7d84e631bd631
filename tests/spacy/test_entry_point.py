"""spaCy finds the component of an installed strukt without any import of it."""

import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

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


def test_the_entry_point_is_declared():
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f"[project.entry-points.spacy_factories]\n{ENTRY}\n" in project
    assert callable(pkgutil.resolve_name(ENTRY.split('"')[1]))


@pytest.mark.slow  # a process that imports spaCy
def test_the_entry_point_is_found(folder_of, tmp_path):
    pytest.importorskip("spacy", reason='needs spaCy: pip install "strukt[spacy]"')
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
