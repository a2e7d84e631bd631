"""What the documentation says can be done, can be done."""

import re
import shlex
from argparse import ArgumentParser
from importlib import import_module
from pathlib import Path

import pytest
from tests.docs.pages import DOCS, ROOT, name_of, text_of

import strukt
from strukt import distributions
from strukt.cli import configuration, main
from strukt.data import corpus
from strukt.factor_graph import factors
from strukt.tasks import TASKS

PAGES = sorted([ROOT / "README.md", *DOCS.rglob("*.md")])
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[str]:
    return [text for found, text in BLOCK.findall(text_of(page)) if found == language]


def test_the_readme_is_read_in_a_minute():
    text = text_of(ROOT / "README.md")
    assert len(text.splitlines()) <= 120
    for command in ("make demo", "make test", "pip install"):
        assert command in text


PRINTED = ("getting-started", "tagging", "hidden-markov-models", "speech")
"""Guides of which all that is printed stands below the block that prints it."""

LONG = {"guided-generation"}
"""Guides that train for seconds; tests/hf/test_guidance.py tests what they show."""

LARGE = {"linear-chain"}
"""Pages with inputs too large for the reference."""

RUN = [page for page in PAGES if blocks(page, "python") and page.stem not in PRINTED]


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # torch.compile does this
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=name_of(page), marks=pytest.mark.slow if page.stem in LONG else ()) for page in RUN
    ],
)
def test_python_runs(page, tmp_path, monkeypatch, pytestconfig):
    monkeypatch.chdir(tmp_path)  # some write pictures
    if not (page.parent.name == "concepts" or page.stem in LARGE or pytestconfig.getoption("--slow")):
        monkeypatch.setenv("STRUKT_BACKEND", "reference")  # kernels would be compiled for these pages alone
    exec(compile("\n".join(blocks(page, "python")), str(page), "exec"), {})


TOLD = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("guide", PRINTED)
def test_what_a_guide_prints_stands_below(guide, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    for code, printed in TOLD.findall(text_of(DOCS / "guides" / f"{guide}.md")):
        exec(code, names)
        assert capsys.readouterr().out == printed


COMMANDS = [
    pytest.param(shlex.split(command, comments=True), id=f"{name_of(page)}: {command.strip()}")
    for page in PAGES
    for block in blocks(page, "console")
    for line in block.replace("\\\n", " ").split("\n")
    if line.startswith("$ ")
    for command in re.split(r"[|>]", line.removeprefix("$ "))
    if command.split()[0:1] == ["strukt"]
]


STRUCTURES = sorted(set(vars(distributions)) & set(strukt.__all__) - {"StructuredDistribution"})


@pytest.mark.parametrize("name", STRUCTURES)
def test_every_structure_is_in_the_table_and_has_a_page(name):
    table = text_of(DOCS / "concepts" / "structures.md")
    assert re.search(rf"^\| `{name}\(", table, re.MULTILINE)
    pages = (DOCS / "structures").glob("*.md")
    imported = re.compile(rf"import (\([^)]*|.*)\b{name}\b")
    assert any(imported.search("\n".join(blocks(page, "python"))) for page in pages)


def test_every_page_is_in_the_menu_once():
    menu = re.findall(r"[\w/-]+\.md", text_of(ROOT / "mkdocs.yml"))
    assert sorted(menu) == sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))


def test_the_guide_shows_every_factor():
    guide = text_of(DOCS / "guides" / "factor-graphs.md")
    assert [name for name in factors.__all__ if not re.search(rf"\b{name}\b", guide)] == []


def test_the_guide_names_every_format():
    guide = text_of(DOCS / "guides" / "trees-and-entities.md")
    table = "\n".join(re.findall(r"^\| .*", guide, re.MULTILINE))
    assert {suffix for suffix in corpus.SUFFIXES if f"`{suffix}`" not in table} == set()


def test_the_reference_shows_every_option_of_pictures():
    page = text_of(DOCS / "reference" / "cli.md")
    options = import_module("strukt.cli.show")._parser().format_help()
    described = set(re.findall(r"^\| `(--\w+)", page, re.MULTILINE))
    assert set(re.findall(r"--\w+", options)) - {"--help"} == described


@pytest.mark.usefixtures("one_parser_per_task")
@pytest.mark.parametrize("words", COMMANDS)
def test_commands_are_understood(words):
    command, arguments = words[1], words[2:]
    assert command in main.COMMANDS
    if command == "train":
        task, *options = arguments
        assert task in TASKS
        for pair in (("--config", "parser.yaml"), ("--initial_model", "tagger")):  # which commands before write
            if {*pair} <= {*options}:
                options = [option for option in options if option not in pair]
        configuration.parse(task, [option for option in options if option != "--print_config"])
    else:
        parser = import_module(f"strukt.cli.{command.replace('-', '_')}")._parser()
        assert isinstance(parser, ArgumentParser)
        parser.parse(arguments)


def test_the_documentation_shows_every_command():
    shown = {words.values[0][1] for words in COMMANDS}
    assert set(main.COMMANDS) <= shown


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_summary_of_the_benchmarks_has_the_ratios_of_its_tables():
    summary, _, rest = text_of(DOCS / "benchmarks.md").partition("<!-- exact: begin -->")
    rows = [row for row in map(cells, summary.splitlines()) if len(row) == 7 and row[1].endswith((" x", "-"))]
    stated = [sorted(float(cell[:-2]) for cell in row[1:] if cell.endswith(" x")) for row in rows[1:]]
    steps = []  # for each size, the training steps of strukt and of its peers, in milliseconds
    for row in map(cells, rest.partition("<!-- exact: end -->")[0].splitlines()):
        if "training step, ms" in row:
            column = row.index("training step, ms")
        elif len(row) > 6 and row[1].startswith("strukt"):
            steps.append([row[column]])
        elif len(row) > 6 and row[1][:1].isalpha():
            steps[-1].append(row[column])
    ratios = [sorted(float(peer) / float(first) for peer in peers if peer != "failed") for first, *peers in steps]
    assert len(stated) == 14
    for numbers in stated:
        assert any(len(each) == len(numbers) and each == pytest.approx(numbers, rel=0.06) for each in ratios)
