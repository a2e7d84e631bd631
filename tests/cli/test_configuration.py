"""Configurations from defaults, files and dotted options, and the texts of what is wrong with them."""

import pytest

from strukt.cli.configuration import parse
from strukt.cli.console import UsageError
from strukt.cli.main import main
from strukt.tasks import dependency, tag


def test_nothing_given_means_the_defaults():
    order = parse("dependency", [])
    assert order.config == dependency.Config()
    assert order.config.trainer != tag.Config().trainer
    assert (order.output, order.resume) == ("dependency-model", False)


def test_options_with_dots_reach_into_the_parts():
    order = parse(
        "tag", ["--train", "a", "--encoder.layers", "1", "--optimizer.clip=2", "-o", "out", "--resume"]
    )
    assert order.config.train == "a"
    assert order.config.encoder.layers == 1
    assert order.config.optimizer.clip == 2.0
    assert (order.output, order.resume) == ("out", True)


def test_an_option_that_stands_alone_is_true():
    given = ["--partial", "--encoder.pt.published", "--train", "a", "--encoder.pt.symmetric", "false"]
    config = parse("dependency", [*given, "--encoder.pt.shared"]).config
    assert (config.partial, config.train) == (True, "a")
    part = config.encoder.pt
    assert (part.published, part.symmetric, part.shared) == (True, False, True)


@pytest.mark.parametrize("option", ["--initial_model", "--config", "--encoder", "--output"])
def test_an_option_without_its_value_is_said(option):
    for given in ([option, "--train", "a"], ["--train", "a", option]):
        with pytest.raises(UsageError, match=f"{option}: expected one argument"):
            parse("tag", given)


@pytest.mark.parametrize("option", ["initial_model", "output"])
def test_an_empty_name_of_a_folder_is_refused(option):
    for given in ([f"--{option}="], [f"--{option}", ""]):
        with pytest.raises(UsageError, match=f"--{option} is empty; give a folder"):
            parse("tag", given)


def test_options_win_over_a_file_wherever_they_are(tmp_path):
    file = tmp_path / "tag.yaml"
    file.write_text("train: a.conllu\nencoder:\n  layers: 7\n  hidden: 9\n")
    for place in (0, 1, 2):
        for given in (["--config", str(file)], [f"--config={file}"]):
            arguments = [["--encoder.layers=8"], ["--resume"]]
            arguments.insert(place, given)
            config = parse("tag", [part for each in arguments for part in each]).config
            assert (config.train, config.encoder.layers, config.encoder.hidden) == ("a.conllu", 8, 9)


def test_options_win_over_the_file_of_a_group_and_later_files_over_earlier_ones(tmp_path):
    first, second = tmp_path / "first.yaml", tmp_path / "second.yaml"
    first.write_text("layers: 7\nhidden: 9\nheads: 4\n")
    second.write_text("hidden: 10\nheads: 5\n")
    files = ["--encoder", str(first), f"--encoder={second}"]
    for arguments in (["--encoder.heads=6", *files], [*files, "--encoder.heads=6"]):
        encoder = parse("tag", arguments).config.encoder
        assert (encoder.layers, encoder.hidden, encoder.heads) == (7, 10, 6)


def test_what_is_printed_can_be_read_again(tmp_path, capsys):
    options = ["--column", "upos", "--encoder.layers", "5", "--trainer.seed", "3", "--optimizer.weight_decay=1e-7"]
    options += ["--output", "1e-3", "--train", "1_0.5e3", "--dev", "é: no #"]
    with pytest.raises(SystemExit) as ended:
        parse("tag", [*options, "--print_config"])
    assert ended.value.code == 0
    file = tmp_path / "printed.yaml"
    file.write_text(capsys.readouterr().out)
    assert parse("tag", ["--config", str(file)]) == parse("tag", options)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--encodr.layers", "3"], "unknown option '--encodr.layers'; did you mean '--encoder.layers'?"),
        (["--trian", "a"], "unknown option '--trian'; did you mean '--train'?"),
        (["--trian=a"], "unknown option '--trian'; did you mean '--train'?"),
        (["--encoder.layers", "x"], "--encoder.layers: expected int, got 'x'; see: strukt train tag --help"),
        (
            ["--optimizer.clip", "x"],
            "--optimizer.clip: expected float, got 'x'; see: strukt train tag --help",
        ),
        (["--config", "none.yaml"], "--config: there is no file"),
        (["words"], "unrecognized arguments: words; see: strukt train tag --help"),
        (["--criterion", "crm"], "--criterion: expected 'cross-entropy', 'crf', 'bits', got 'crm'"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(arguments, message):
    with pytest.raises(UsageError) as raised:
        parse("tag", arguments)
    assert str(raised.value).startswith(message)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "encoder: {layesr: 3}",
            "unknown option 'encoder.layesr' in the file; did you mean 'encoder.layers'?",
        ),
        ("encodr: {layers: 3}", "unknown option 'encodr.layers' in the file; did you mean 'encoder.layers'?"),
        ("encoder: {layers: many}", "--encoder.layers: expected int, got 'many'"),
        ("encoder: {layers: 3", "{file}:1: is not YAML: did not find expected"),
    ],
)
def test_what_is_wrong_in_a_file(tmp_path, text, message):
    file = tmp_path / "tag.yaml"
    file.write_text(text)
    with pytest.raises(UsageError) as raised:
        parse("tag", ["--config", str(file)])
    assert str(raised.value).startswith(message.replace("{file}", str(file)))


def test_help_explains_the_options(capsys):
    with pytest.raises(SystemExit):
        main(["train", "tag", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "--encoder.words WORDS Size of the word embeddings. (default: 100)" in text
    assert "type:" not in text
    assert "default: )" not in text
    assert "default: null" not in text


def test_the_nearest_task_is_suggested(capsys):
    assert main(["train", "dependancy"]) == 2
    assert capsys.readouterr().err == "error: unknown task 'dependancy'; did you mean 'dependency'?\n"


def test_a_failed_parse_leaves_nothing_for_the_next_one(capsys):
    with pytest.raises(UsageError):
        parse("tag", ["--print_config", "--encoder.layers", "x"])
    assert parse("tag", ["--encoder.layers", "3"]).config.encoder.layers == 3
    assert capsys.readouterr().out == ""
