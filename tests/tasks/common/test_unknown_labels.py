"""The warning about corpora with other labels than those of the model."""

import io
import warnings

import pytest
from tests import tiny_corpora, tiny_models

from strukt.cli.main import main
from strukt.data import columns, conllu
from strukt.data.classes import labelled
from strukt.data.files.problems import DataWarning
from strukt.tasks.common.unknown_labels import warn_of_unknown_labels

TREE = "1\ta\t_\tX\tA\t_\t2\tfirst\t_\t_\n2\tb\t_\tX\tB\t_\t0\tlast\t_\t_\n\n"
CLASSES = b"0\ta\n1\tb\n2\tc\n3\td\n4\te\n5\tf\n"
FILES = {
    "tag": (list(columns.read(io.BytesIO(b"a\tB-PER\nb\tO\nc\tB-LOC\n\n"))), "B-LOC, B-PER", "DT, JJ, NN"),
    "dependency": (list(conllu.read(io.BytesIO(TREE.encode()))), "first, last", "amod, det, nsubj, obj, root"),
    "constituency": (tiny_corpora.read_brackets("(ROOT (A (B b) (C c)))\n"), "A", "INTJ, NP, S, S VP, VP"),
    "ner": (
        tiny_corpora.read_json_lines(
            '{"tokens": ["b"], "entities": [{"start": 0, "end": 1, "type": "person"}]}\n'
        ),
        "person",
        "LOC",
    ),
    "classify": (list(labelled.read(io.BytesIO(CLASSES))), "0, 1, 2, 3, 4 and 1 more", "bad, good"),
}


@pytest.mark.parametrize("name", FILES)
def test_labels_of_which_a_model_knows_none_are_warned_of_once(name):
    kind, config, known = tiny_models.ENCODED[name]
    model = kind.from_corpus(config, known)
    unknown, theirs, ours = FILES[name]
    message = rf"^<stream>: the model knows none of the labels {theirs}; it has {ours}"
    with pytest.warns(DataWarning, match=message) as caught:
        warn_of_unknown_labels(model, unknown)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_unknown_labels(model, [*unknown, *known])
        warn_of_unknown_labels(model, [])


@pytest.mark.filterwarnings("default::strukt.data.files.problems.DataWarning")
def test_training_and_evaluation_warn(tmp_path, capsys):
    known, unknown = tmp_path / "tags.tsv", tmp_path / "other.tsv"
    known.write_text("a\tX\nb\tY\n\n")
    unknown.write_text("a\tB-PER\nb\tB-LOC\n\n")
    sizes = ["--encoder.layers=1", "--encoder.hidden=8", "--trainer.epochs=1", "--trainer.threads=1"]
    model = str(tmp_path / "model")
    warning = f"warning: {unknown}: the model knows none of the labels B-LOC, B-PER; it has X, Y\n"
    assert main(["train", "tag", "--train", str(known), "--dev", str(unknown), "-o", model, *sizes]) == 0
    assert capsys.readouterr().err.count(warning) == 1
    assert main(["evaluate", model, str(unknown)]) == 0
    out, err = capsys.readouterr()
    assert out == "accuracy  0.00\n"
    assert err == warning
    assert main(["evaluate", model, str(known)]) == 0
    assert capsys.readouterr().err == ""
