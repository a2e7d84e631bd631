"""Configurations of the package: each is read by its task, and wrong names are refused."""

import pytest

from strukt.cli.configuration import parse
from strukt.cli.console import UsageError
from strukt.cli.main import main
from strukt.configurations import Configuration, configurations
from strukt.tasks import TASKS


@pytest.fixture
def shipped(tmp_path, monkeypatch):
    """One configuration of each of two tasks, whatever the package ships."""
    path = tmp_path / "shipped.yaml"
    path.write_text("encoder: {layers: 7}\n")
    found = {
        f"published/{name}": Configuration(f"published/{name}", task, "Table 1 of Nobody (2020)", path)
        for name, task in (("tagger", "tag"), ("parser", "dependency"))
    }
    monkeypatch.setattr("strukt.cli.configuration.configurations", lambda: found)
    return found


@pytest.mark.parametrize("name", configurations())
def test_each_is_read_by_its_task(name):
    configuration = configurations()[name]
    assert configuration.task in TASKS
    config = parse(configuration.task, ["--config", name]).config
    assert (config.train, config.dev) == ("", "")


@pytest.mark.parametrize("arguments", [["--config", "published/tagger"], ["--config=published/tagger"]])
def test_a_name_stands_for_its_file(shipped, arguments):
    assert parse("tag", [*arguments, "--encoder.hidden", "9"]).config.encoder.layers == 7


def test_a_file_of_the_same_name_is_read_instead(shipped, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "published").mkdir()
    (tmp_path / "published" / "tagger").write_text("encoder: {layers: 5}\n")
    assert parse("tag", ["--config", "published/tagger"]).config.encoder.layers == 5


def test_a_folder_of_the_same_name_is_not_in_the_way(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fast").mkdir()
    order = parse("pipeline", ["--config", "fast", "-o", "fast"])
    assert (order.config.arc_size, order.output) == (128, "fast")


def test_the_task_must_be_the_one_of_the_configuration(shipped):
    expected = r"published/parser is for another task; use: strukt train dependency --config published/parser"
    with pytest.raises(UsageError, match=expected):
        parse("tag", ["--config", "published/parser"])


def test_an_unknown_name_has_its_nearest(shipped):
    with pytest.raises(UsageError, match=r"tager', neither a file nor .*; did you mean 'published/tagger'"):
        parse("tag", ["--config", "published/tager"])


def test_a_name_that_is_no_file_either_has_its_nearest():
    with pytest.raises(UsageError, match=r"'fst', neither a file nor .*; did you mean 'fast'"):
        parse("pipeline", ["--config", "fst"])


def test_help_lists_those_of_the_task(shipped, capsys):
    with pytest.raises(SystemExit):
        parse("tag", ["--help"])
    printed = " ".join(capsys.readouterr().out.split())
    assert "published/tagger (Table 1 of Nobody (2020))" in printed
    assert "published/parser" not in printed


def test_a_file_without_its_first_line_is_refused(tmp_path, monkeypatch):
    (tmp_path / "a.yaml").write_text("encoder: {}\n")
    monkeypatch.setattr("strukt.configurations.FOLDER", tmp_path)
    with pytest.raises(ValueError, match=r"a\.yaml: the first line must be like"):
        configurations()


def test_the_command_line_says_it_in_one_line(capsys):
    assert main(["train", "tag", "--config", "published/nothing", "--train", "a", "--dev", "b"]) == 2
    assert "--config is 'published/nothing', neither a file nor" in capsys.readouterr().err
