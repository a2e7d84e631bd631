"""Save small models, with what they predict, for tests of all later versions to load.

There is one of every task, one of them exported to ONNX as well, and one of each kind in `OBJECTS`.

Run it once for each release, ``python -m tests.bundles.make``, and commit the folder that it makes.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

from tests.bundles.objects import OBJECTS
from tests.tasks.learning import learned
from tests.tiny_models import ENCODED, OTHERS

import strukt
from strukt.cli.main import main
from strukt.onnx.export import export
from strukt.train import saved_model

FORMATS = {
    "tag": "conllu",
    "dependency": "conllu",
    "constituency": "brackets",
    "ner": "jsonl",
    "ner bits": "jsonl",
    "pipeline": "conllu",
    "classify": "labelled",
    "dictionary": "labelled",
    "nli": "pairs",
    "cogs": "cogs",
    "listops": "listops",
    "mlm": "text",
    "sort": "text",
    "count": "text",
    "lm": "text",
    "lm stream": "text",
    "lm pcfg": "brackets",
}
"""The models, and the formats of what they annotate."""

EXPORTED = "tag"
"""The model that is exported, too."""

SENTENCES = 6


def make(folder: Path) -> None:
    """Write ``model/``, ``input.FORMAT`` and ``output`` of each model into a folder of its name."""
    for name, form in FORMATS.items():
        kind, config, sentences = (ENCODED | OTHERS)[name]
        place = folder / name.replace(" ", "-")
        model, _ = learned(kind, config, sentences)
        saved_model.save(model, place / "model", environment={"strukt": strukt.__version__})
        some = sentences[::7][:SENTENCES]
        texts = [" ".join(one.forms) + "\n" if form == "text" else str(one) for one in some]
        (place / f"input.{form}").write_text("".join(texts), encoding="utf-8")
        if status := predict(place, place / "output"):
            sys.exit(status)
    make_exported(folder / EXPORTED, folder / f"exported-{EXPORTED}")
    for name, each in OBJECTS.items():
        each.save(folder / name)
        answers = json.dumps(each.answers(folder / name), indent=1)
        (folder / f"{name}.json").write_text(answers + "\n", encoding="utf-8")


def make_exported(place: Path, exported: Path) -> None:
    """Export the model of a folder, with the same input and output."""
    export(saved_model.load(place / "model"), exported / "model", environment={"strukt": strukt.__version__})
    for path in (*place.glob("input.*"), place / "output"):
        shutil.copy(path, exported)


def predict(place: Path, output: Path) -> int:
    """Annotate the input of a model from the command line; the exit status."""
    [corpus] = place.glob("input.*")
    before = os.getcwd()
    os.chdir(place)  # identifiers of mentions depend on the path of the corpus as it is given
    try:
        return main(["predict", "model", corpus.name, "--format", corpus.suffix[1:], "-o", str(output)])
    finally:
        os.chdir(before)


if __name__ == "__main__":
    make(Path(__file__).parent / strukt.__version__)
