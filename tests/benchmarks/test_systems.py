"""Whole systems are measured by what they predict, of strukt and of spaCy alike."""

import math

import pytest
from benchmarks.systems import (
    Entry,
    Measured,
    columns_of,
    header,
    of_spacy,
    rows,
    scores,
    unannotated,
)

from strukt.data import conllu


def gold():
    return conllu.from_forms(["the", "dogs", "bark"]).annotated(
        xpos=["DT", "NNS", "VBP"], head=[2, 3, 0], deprel=["det", "nsubj", "root"]
    )


def test_scores_compare_each_column():
    right = columns_of(gold())
    assert scores([gold()], [right]) == {"XPOS": 100.0, "UAS": 100.0, "LAS": 100.0}
    wrong = {"xpos": ["DT", "NN", "VBP"], "arcs": [(2, "det"), (3, "obj"), (2, "root")]}
    assert scores([gold()], [wrong]) == pytest.approx({"XPOS": 200 / 3, "UAS": 200 / 3, "LAS": 100 / 3})
    assert unannotated(gold()).column("xpos") == ["_"] * 3
    assert math.isnan(scores([gold()], [{**right, "xpos": ["_"] * 3}])["XPOS"]), "a parser alone has none of tags"


def test_a_pipeline_of_spacy_annotates_gold_tokens(tmp_path):
    spacy = pytest.importorskip("spacy")
    pipeline = spacy.blank("en")
    ruler = pipeline.add_pipe("attribute_ruler")
    ruler.add([[{"LOWER": "dogs"}]], {"TAG": "NNS"})
    ruler.add([[{"LOWER": "the"}]], {"TAG": "DT"})
    pipeline.add_pipe("entity_ruler").add_patterns([{"label": "ANIMAL", "pattern": "the dogs"}])
    pipeline.to_disk(tmp_path / "pipeline")
    (found,) = of_spacy(str(tmp_path / "pipeline"))([gold()])
    assert found["xpos"] == ["DT", "NNS", ""]
    assert found["entities"] == ["B-ANIMAL", "I-ANIMAL", "O"]
    assert [head for head, _ in found["arcs"]] == [0, 0, 0]


def test_a_row_has_speeds_for_each_number_of_threads():
    one = Measured({"LAS": 81.234}, 23456.7, 0.0015, 300_000_000, 2_100_000)
    two = Measured({"LAS": 81.234}, 30000.0, 0.0012, 310_000_000, 2_100_000)
    assert header([1, 2], ["LAS"])[3:5] == ["words per second, 2 threads", "one sentence, 2 threads, ms"]
    (row,) = rows([Entry("fast", ["folder"], 12.6)], {"fast": [one, two]})
    assert row == ["fast", "23,457", "1.50", "30,000", "1.20", "300", "2", "13", "81.23"]
    assert len(row) == len(header([1, 2], ["LAS"]))


def test_an_entry_has_folders_and_minutes(tmp_path):
    (tmp_path / "metrics.json").write_text('{"minutes": 4.5}')
    assert Entry.read("a b=one+two:31") == Entry("a b", ["one", "two"], 31.0)
    assert Entry.read(f"a={tmp_path}+{tmp_path}") == Entry("a", [str(tmp_path)] * 2, 9.0)
    assert Entry.read("a=nowhere").minutes is None
    with pytest.raises(SystemExit, match="NAME=FOLDER"):
        Entry.read("nowhere")
