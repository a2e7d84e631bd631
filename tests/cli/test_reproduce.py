"""`strukt reproduce` at the command line."""

import json

import pytest
from tests.reproduce.tiny_table import CONTENT

from strukt.cli.main import main
from strukt.reproduce import results, table


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """A package whose only table is a tiny one, with a recorded result."""
    recorded = {"row": "none", "seed": 1, "command": "", "test": {"mse": 7.5}}
    (tmp_path / "tiny.json").write_text(json.dumps(CONTENT))
    (tmp_path / "recorded").mkdir()
    (tmp_path / "recorded" / "tiny-quick.json").write_text(
        json.dumps({"table": "tiny", "quick": True, "runs": [recorded]})
    )
    monkeypatch.setattr(table, "FOLDER", tmp_path)
    monkeypatch.setattr(results, "FOLDER", tmp_path / "recorded")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_tables_are_listed(capsys):
    assert main(["reproduce"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert [row.split()[0] for row in rows] == ["table", *table.names()]


def test_a_table_is_run_and_printed(tiny, capsys):
    assert main(["reproduce", "tiny", "--quick", "--rows", "none"]) == 0
    out, err = capsys.readouterr()
    head, row = out.splitlines()
    assert head.split() == ["Counting", "test", "dev", "paper", "recorded", "test", "dev", "seeds", "minutes"]
    noted = results.read(tiny / "reproduced" / "tiny-quick" / "tiny-quick.json")
    assert row.split()[:3] == ["none:", "no", "attention"]
    assert row.split()[5:9] == ["–", "7.5", "–", "1"]
    assert float(row.split()[3]) == pytest.approx(noted.runs[0].test["mse"], rel=1e-3)
    assert f"no attention, seed 1 (expected minutes: –): {noted.runs[0].command}" in err
    assert main(["reproduce", "tiny", "--quick", "--rows", "none"]) == 0
    again, said = capsys.readouterr()
    assert again == out
    assert said.splitlines() == [
        "results are in reproduced/tiny-quick/tiny-quick.json",
        "Nobody (2020); squared error.",
    ]


def test_commands_are_printed_and_not_run(tiny, capsys):
    assert main(["reproduce", "tiny", "--commands", "--seeds", "4"]) == 0
    commands = capsys.readouterr().out.splitlines()
    assert len(commands) == 2
    assert all(command.startswith("strukt train count --encoder lstm") for command in commands)
    assert all(command.endswith("--trainer.seed 4") for command in commands)
    assert not (tiny / "reproduced").exists()


def test_commands_say_if_only_the_first_sentences_are_read(capsys):
    assert main(["reproduce", "alignments", "--commands", "--rows", "published-matching", "crf"]) == 0
    whole, first = capsys.readouterr().out.splitlines()
    assert whole.endswith("--trainer.seed 1")
    assert first.endswith("--trainer.seed 1  # only the first sentences of files: train 18,000, dev 2,000")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["cosg"], "error: unknown table 'cosg'; did you mean 'cogs'?\n"),
        (["cogs", "--rows", "pt-hid"], "error: unknown row 'pt-hid'; did you mean 'pt-hide'?\n"),
        (["cogs", "--seed", "1"], "error: unknown option '--seed'; did you mean '--seeds'?\n"),
    ],
)
def test_the_nearest_name_is_suggested(arguments, expected, capsys):
    assert main(["reproduce", *arguments]) == 2
    assert capsys.readouterr().err == expected


@pytest.mark.parametrize(
    "options",
    [["--rows", "pt"], ["--commands"], ["--seeds", "2"], ["--quick"], ["--output", "x"], ["--data", "y"]],
)
def test_options_of_a_table_need_one(options, capsys):
    assert main(["reproduce", *options]) == 2
    assert f"{options[0]} needs a table; give its name first" in capsys.readouterr().err
