"""Running a table: to the end, interrupted and resumed, again; each with the same results."""

import dataclasses
import json
from functools import partial

import pytest
from tests.reproduce.tiny_table import CONTENT, SIZES

from strukt.cli.configuration import parse
from strukt.errors import StruktError
from strukt.reproduce import table as tables
from strukt.reproduce.corpora import provide
from strukt.reproduce.results import read
from strukt.reproduce.run import Place, run
from strukt.train import callbacks

TABLE = tables.parse("tiny", CONTENT)


@pytest.fixture
def corpora(tmp_path):
    return partial(provide, TABLE, folder=tmp_path / "corpora")


def configure(task, arguments):
    return parse(task, arguments).config


def reproduce(folder, corpora, rows=TABLE.rows, seeds=(1,), quick=False):
    """The results, and the rows and seeds that were run."""
    ran = []

    def announce(row, seed):
        ran.append((row.name, seed))

    return run(Place(folder, TABLE, quick), rows, seeds, corpora, configure, announce), ran


def scores(results):
    """Return the parts of results that depend neither on the day nor on the load of the machine."""
    return [dataclasses.replace(each, minutes=None, date="") for each in results.runs]


def test_a_table_is_run_once(tmp_path, corpora):
    results, ran = reproduce(tmp_path / "a", corpora, seeds=(1, 2))
    assert ran == [("none", 1), ("additive", 1), ("none", 2), ("additive", 2)]
    assert reproduce(tmp_path / "a", corpora, seeds=(2, 1)) == (results, [])
    assert read(tmp_path / "a" / "tiny.json") == results
    [first, *_] = results.runs
    assert first.command == TABLE.rows[0].command(1, quick=False)
    assert first.test["mse"] > 0
    assert first.test != first.development != first.first_epoch
    assert {"strukt", "torch"} == first.versions.keys()
    assert first.machine
    model = json.loads((tmp_path / "a" / "none-1" / "config.json").read_text())
    assert model["options"]["trainer"]["epochs"] == 2


@pytest.fixture
def interrupted_at(monkeypatch):
    """Makes the n-th checkpoint the last that is written before Ctrl-C."""

    def install(number):
        write, left = callbacks.checkpoints.write, iter(range(number))

        def write_and_stop(*arguments):
            write(*arguments)
            if next(left, None) is None:
                raise KeyboardInterrupt

        monkeypatch.setattr(callbacks.checkpoints, "write", write_and_stop)

    return install


def test_an_interrupted_table_goes_on_to_the_same_results(tmp_path, corpora, interrupted_at, monkeypatch):
    whole, _ = reproduce(tmp_path / "whole", corpora)
    interrupted_at(2)  # after both epochs of the first row, and one of the second
    with pytest.raises((KeyboardInterrupt, SystemExit)):
        reproduce(tmp_path / "part", corpora)
    monkeypatch.undo()
    assert [done.row for done in read(tmp_path / "part" / "tiny.json").runs] == ["none"]
    assert (tmp_path / "part" / "additive-1" / "training" / "checkpoints").exists()
    resumed, ran = reproduce(tmp_path / "part", corpora)
    assert ran == [("additive", 1)]
    assert scores(resumed) == scores(whole)


def test_a_finished_model_is_measured_where_only_that_was_missing(tmp_path, corpora):
    results, _ = reproduce(tmp_path, corpora, TABLE.rows[:1])
    model = tmp_path / "none-1" / "weights.safetensors"
    before = model.stat().st_mtime_ns
    (tmp_path / "tiny.json").unlink()
    assert scores(reproduce(tmp_path, corpora, TABLE.rows[:1])[0]) == scores(results)
    assert model.stat().st_mtime_ns == before


def test_the_quick_version_has_its_own_file_and_fewer_sentences(tmp_path, corpora):
    results, _ = reproduce(tmp_path, corpora, TABLE.rows[:1], quick=True)
    assert read(tmp_path / "tiny-quick.json") == results
    assert results.quick
    assert results.runs[0].first == {"train": 20}
    assert results.runs[0].development == results.runs[0].first_epoch  # of the only epoch


def test_another_training_of_the_same_name_is_refused(tmp_path, corpora):
    results, _ = reproduce(tmp_path, corpora, TABLE.rows[:1])
    changed = tables.parse("tiny", CONTENT | {"options": SIZES.replace("--size 8", "--size 9")}).rows[:1]
    with pytest.raises(
        StruktError, match=r"none with seed 1 was run as 'strukt .*' on all sentences; give another folder with -o"
    ):
        reproduce(tmp_path, corpora, changed)
    assert read(tmp_path / "tiny.json") == results
