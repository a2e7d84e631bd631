"""Tables of the package: their options parse, their corpora can be had, their published numbers are there."""

import re

import pytest

from strukt.cli.configuration import parse
from strukt.configurations import configurations
from strukt.data.corpora.open_corpora import CORPORA
from strukt.data.corpora.treebanks import treebank
from strukt.reproduce import table as tables
from strukt.reproduce.corpora import EXTRACTS
from strukt.reproduce.results import recorded
from strukt.tasks.common.ranges import require_valid

pytestmark = pytest.mark.usefixtures("one_parser_per_task")

TABLES = [tables.load(name) for name in tables.names()]
SPLITS = ("train", "dev")

COMMON = {
    "title": "a table", "source": "Nobody (2020)", "measure": "accuracy", "task": "tag", "metric": "accuracy",
    "files": {"train": "a/train.conllu", "dev": "a/dev.conllu"}, "options": "--encoder.layers 1 --criterion crf",
    "minutes": 5, "first": {"train": 10},
    "quick": {"options": "--trainer.epochs 1", "first": {"dev": 3}, "minutes": 1},
}  # fmt: skip


def only_row(**values):
    return tables.parse("t", COMMON | {"rows": [{"name": "a", "title": "A", **values}]}).rows[0]


def test_what_a_row_says_replaces_what_the_table_says():
    shorter = {"minutes": 2, "options": "--encoder.layers 3"}
    row = only_row(options="--encoder.layers 2", quick=shorter, minutes=7)
    assert row.full.options == ("--encoder.layers", "2", "--criterion", "crf")
    assert row.quick.options == ("--encoder.layers", "3", "--criterion", "crf", "--trainer.epochs", "1")
    assert (row.full.minutes, row.quick.minutes) == (7, 2)
    assert (row.full.first, row.quick.first) == ({"train": 10}, {"train": 10, "dev": 3})


def test_a_configuration_comes_before_the_options_that_change_it():
    row = only_row(options="--config published/tag-ewt")
    assert row.full.options[:2] == ("--config", "published/tag-ewt")
    assert parse("tag", row.full.options).config.criterion == "crf"


def test_the_command_can_be_typed():
    command = only_row().command(3, quick=True)
    assert command == (
        "strukt train tag --encoder.layers 1 --criterion crf --trainer.epochs 1 --train a/train.conllu "
        "--dev a/dev.conllu --trainer.seed 3"
    )


def config_of(row, version):
    files = [f"--{split}={row.files[split]}" for split in SPLITS]
    config = parse(row.task, [*version.options, *files]).config
    require_valid(config)
    return config


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_row_is_a_training_that_its_task_understands(table, request):
    known, shorter = set(), set()
    for row in table.rows:
        names = (row.task, *(option.partition("=")[0] for option in row.full.options if option.startswith("--")))
        if names in known and not request.config.getoption("--slow"):  # other values of the same options
            continue
        known.add(names)
        assert config_of(row, row.full).train == row.files["train"]
        changes = frozenset(row.quick.options) - frozenset(row.full.options)
        if changes not in shorter:  # which other rows shorten likewise
            shorter.add(changes)
            config_of(row, row.quick)


def published_files(name):
    """Return the files of a corpus that `strukt data get` names for training."""
    corpus = CORPORA[name] if name in CORPORA else treebank(name)
    return {file for command in corpus.commands for file in re.findall(r"\{\}/(\S+)", command)}


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_row_has_its_corpora(table):
    assert len(set(table.names)) == len(table.names)
    assert {kind for _, kind in table.extracts.values()} <= EXTRACTS.keys()
    for row in table.rows:
        assert {"train", "dev", "test"} == row.files.keys()
        for file in (row.files[split] for split in SPLITS):
            corpus, _, name = table.extracts.get(file, [file])[0].partition("/")
            assert file in table.made or name in published_files(corpus)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_published_numbers_are_there_or_it_says_why_not(table):
    assert any(row.paper for row in table.rows) or any(
        reason in table.note for reason in ("has no results", "no numbers", "as bars")
    )


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_recorded_runs_are_those_of_the_rows(table, quick):
    for run in recorded(table.name, quick).runs:
        row = table.row(run.row)
        assert run.command == row.command(run.seed, quick)
        assert run.first == row.version(quick).first
        assert run.test or run.development
        assert run.machine
        assert quick or row.metric in run.test
        epochs, limit = re.match(r"[\d.]+(?= epochs)", run.note), re.search(r"--trainer.epochs (\d+)", run.command)
        assert not (epochs and limit) or float(epochs[0]) <= float(limit[1])


def test_configurations_of_open_corpora_are_in_a_table():
    used = {version.options[1] for table in TABLES for row in table.rows for version in (row.full,)}
    closed = {
        "constituency-bits-chinese", "constituency-bits-xlnet", "ner-bits", "ner-conll2003",
        "ner-conll2003-transformer", "reverse-dictionary", "sst-latent-tree", "tag-ptb", "tag-ptb-transformer",
    }  # fmt: skip
    published = {name for name in configurations() if name.startswith("published/")}
    assert published - used == {f"published/{name}" for name in closed}
