"""Options of the commands that are not configurations."""

import re

import pytest

from strukt.cli.console import UsageError, suggestion
from strukt.cli.main import main
from strukt.cli.options import Parser


@pytest.fixture
def parser():
    parser = Parser("try", "Tries.")
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("--probabilities", action="store_true")
    parser.add_argument("-o", "--output")
    return parser


def test_options_and_arguments_are_read(parser):
    options = parser.parse(["a", "--output=b", "--probabilities"])
    assert (options.file, options.output, options.probabilities) == ("a", "b", True)


@pytest.mark.parametrize("name", ["output", "svg"])
def test_an_empty_name_of_an_output_is_refused(parser, name):
    parser.add_argument("--svg")
    for given in (["a", f"--{name}", ""], [f"--{name}=", "--", "a"]):
        with pytest.raises(UsageError, match=f"--{name} is empty; give a name; see: strukt try --help"):
            parser.parse(given)


@pytest.mark.parametrize("number", ["*", "+"])
def test_arguments_stand_before_and_after_options(parser, number):
    parser.add_argument("more", nargs=number)
    for arguments in ("a b --probabilities", "a --probabilities b", "--probabilities a b"):
        options = parser.parse(arguments.split())
        assert (options.file, options.more, options.probabilities) == ("a", ["b"], True), arguments


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a", "--probabilties"], "unknown option '--probabilties'; did you mean '--probabilities'?"),
        (["--out", "b"], "unknown option '--out'; did you mean '--output'?"),
        (["a", "--zzz"], "unknown option '--zzz'; known are: --probabilities, --help, --output"),
        ([], "the following arguments are required: FILE; see: strukt try --help"),
        (["a", "b"], "unrecognized arguments: b; see: strukt try --help"),
        (["a", "-o"], "argument -o/--output: expected one argument; see: strukt try --help"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(parser, arguments, message):
    with pytest.raises(UsageError) as raised:
        parser.parse(arguments)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("--epochz", "did you mean '--trainer.epochs'?"),
        ("--optimizer.lr", "did you mean '--optimizer.learning_rate'?"),
        ("--traner.epochs", "did you mean '--trainer.epochs'?"),
        ("--marginals", "no option has a similar name"),
    ],
)
def test_among_many_options_only_what_is_alike_is_suggested(given, message):
    sections = [f"--section.option_{index}" for index in range(30)]
    known = ["--train", "--variant", "--trainer.epochs", "--optimizer.learning_rate", *sections]
    assert suggestion(given, known) == message


def test_nothing_is_an_option_after_two_dashes(parser):
    assert parser.parse(["--", "--odd"]).file == "--odd"


@pytest.mark.parametrize("command", ["evaluate", "predict", "show", "check"])
def test_missing_arguments_end_with_code_2(command, capsys):
    assert main([command]) == 2
    errors = capsys.readouterr().err
    assert errors.startswith("error: the following arguments are required: ")
    assert errors.endswith(f"; see: strukt {command} --help\n")


@pytest.mark.parametrize("command", ["evaluate", "predict"])
def test_an_unknown_format_is_named(command, capsys):
    assert main([command, "model", "file", "--format", "xml"]) == 2
    assert "'xml'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (["train", "tag", "--lr", "1e-3"], "--optimizer.learning_rate"),
        (["train", "tag", "--learning-rate=1e-3"], "--optimizer.learning_rate"),
        (["train", "tag", "--num_epochs", "3"], "--trainer.epochs"),
        (["train", "tag", "--batch_size", "32"], "--trainer.tokens"),
        (["train", "tag", "--device", "cuda"], "--trainer.accelerator"),
        (["train", "tag", "--seed", "2"], "--trainer.seed"),
        (["train", "tag", "--output_dir", "model"], "--output"),
        (["predict", "model", "file", "--overwrite"], "--force"),
        (["predict", "model", "file", "--device", "cuda"], "--gpus"),
        (["show", "model", "x", "--probs"], "--probabilities"),
        (["generate", "model", "--count", "3"], "--number"),
    ],
)
def test_names_that_other_programs_have_are_understood(arguments, option, capsys):
    assert main(arguments) == 2
    given = next(word for word in arguments if word.startswith("--")).partition("=")[0]
    expected = f"error: unknown option {given!r}; did you mean {option!r}?\n"
    assert capsys.readouterr() == ("", expected)


def test_every_synonym_is_of_an_option_that_there_is():
    from importlib import import_module

    from strukt.cli import configuration
    from strukt.cli.guesses import SYNONYMS
    from strukt.cli.main import COMMANDS

    helps = [configuration.build("tag").format_help()]
    for command in COMMANDS.keys() - {"train"}:
        helps.append(import_module(f"strukt.cli.{command.replace('-', '_')}")._parser().format_help())
    known = {option.rpartition(".")[2].lstrip("-") for option in re.findall(r"--[\w.-]+", " ".join(helps))}
    assert SYNONYMS.keys() <= known
