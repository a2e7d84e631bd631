"""Options of the commands that are not configurations."""

import pytest

from strukt.cli.console import UsageError, choose, suggestion
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


def test_nothing_is_an_option_after_two_dashes(parser):
    assert parser.parse(["--", "--odd"]).file == "--odd"


def test_choose_gives_back_what_is_known():
    assert choose("b", ["a", "b"], "letter") == "b"


def test_suggestion_prefers_the_nearest():
    assert suggestion("evalute", ["train", "evaluate", "predict"]) == "did you mean 'evaluate'?"


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
