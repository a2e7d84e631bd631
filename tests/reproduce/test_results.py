"""Results as files, and how they are told."""

import json

import pytest

from strukt.errors import DataError
from strukt.reproduce import results, table
from strukt.reproduce.results import Results, Run, read

RUN = Run(
    "a", 1, "strukt train tag", {"train": 3}, {"accuracy": 90.0}, {"accuracy": 91.0}, minutes=2.5, note="±"
)


def test_a_file_has_all_that_was_noted(tmp_path):
    noted = Results("t", True).with_run(RUN).with_run(Run("b", 2, "strukt train ner"))
    noted.write(tmp_path / "t.json")
    assert read(tmp_path / "t.json") == noted
    assert json.loads((tmp_path / "t.json").read_text())["runs"][0]["note"] == "±"


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"table": "t", "quick": false, "runs": [{"row": "a"}]}', '{"table": 1}']
)
def test_another_file_is_named(tmp_path, content):
    path = tmp_path / "t.json"
    path.write_text(content)
    with pytest.raises(DataError, match=r"t\.json: holds no results of strukt reproduce; move it away"):
        read(path)


def test_runs_are_found_by_row_and_seed():
    row = table.load("cogs").row("pt-hide")
    known = results.recorded("cogs", quick=False)
    assert [run.seed for run in known.of(row)] == [1, 2]
    assert known.find(row, 2) is known.of(row)[1]
    assert known.find(row, 3) is None


def test_a_table_without_recorded_results_has_no_runs():
    assert results.recorded("nothing", quick=True) == Results("nothing", quick=True)
