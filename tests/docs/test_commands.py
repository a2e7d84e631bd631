"""The commands of the documentation run as they stand there, page by page, on tiny corpora, for one epoch.

Corpora and models that a page does not make itself are made when a command names them.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from tests import tiny_corpora, tiny_pretrained
from tests.data.logical_forms import random_logical_forms
from tests.docs.pages import DOCS, ROOT, name_of, text_of

from strukt.cli.main import main
from strukt.tasks import TASKS

PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md")])
BLOCK = re.compile(r"^```(console|bash)\n(.*?)^```", re.MULTILINE | re.DOTALL)

NOT_RUN = {
    r"^make|^pip|^\.venv|^python": "installs, measures for hours, or opens a browser",
    r"^curl|^strukt serve": "a server runs until it is stopped; tests/serve",
    r"^strukt data|^awk .*listops/d20s-test": "downloads; tests/cli/test_data.py",
    r"^strukt push|hf://": "needs an account, or a model on the hub; tests/train/test_hub.py",
    r"^strukt (demo|doctor|warm-up|benchmark)": "takes a minute or more; tests/cli, tests/benchmarks",
    r"^strukt reproduce \w": "trains for minutes or hours; tests/cli/test_reproduce.py",
    r"^strukt export": "needs the extra onnx; tests/cli/test_export.py",
    r"^strukt predict exported": "the same",
    r"^strukt evaluate fast-int8": "the same",
    r"--engine ray|\.parquet": "starts Ray; tests/scale",
    r"--trainer.devices": "needs four GPUs",
}
"""Commands that cannot run here, and why, or what runs them."""

SHORT: dict[str, object] = {
    "trainer.epochs": 1, "trainer.tokens": 200, "trainer.threads": 1, "trainer.precision": "32",
    "trainer.accelerator": "cpu", "encoder.layers": 1, "encoder.hidden": 16, "encoder.words": 16,
    "encoder.minimum_count": 1, "minimum_count": 1, "arc_size": 16, "label_size": 16, "span_size": 24, "size": 16,
    "states": 32, "rank": 4,
}  # fmt: skip
"""Options behind those of a page, where a task has them."""

_SIZES = ["span_size", "label_size"]
UNREAD = {"bits": ["span_size"], "bits-published": _SIZES, "flat": _SIZES}
"""Those of them that a criterion does not read."""

LABELLED = "good\ta fine film\nbad\ta dull film\ngood\tfine and moving\nbad\tdull\n" * 3
PAIRS = "A man sleeps.\tSomebody sleeps.\tentailment\nA man sleeps.\tSomebody runs.\tcontradiction\n" * 4
LISTS = "9\t[MAX 2 9 [MIN 4 7 ] 0 ]\n2\t[MIN 2 9 4 ]\n7\t[SM 3 4 ]\n" * 4
TEXT = "the old cat sees a dog .\na dog hears the wet fish .\nevery bird eats a fish .\n" * 4
NUMBERS = "3 1 2\n5 4\n9 8 7 1\n" * 5

LINES = {
    "classify": LABELLED, "nli": PAIRS, "listops": LISTS, "lm": TEXT, "mlm": TEXT, "sort": NUMBERS,
    "count": NUMBERS, "dictionary": "".join(f"word{number}\tthe thing of {number}\n" for number in range(12)),
}  # fmt: skip

COLUMNS = "\t_" * 7
MENTIONS = (
    f"""# global.Entity = GRP-etype
1\tAda{COLUMNS}\tEntity=(1-person)
2\tof{COLUMNS}\t_
3\tRome{COLUMNS}\tEntity=(2-place)

"""
    * 6
)

MODELS = {
    "codes": ("constituency", "--criterion", "bits"),
    "channels": ("tag", "--encoder.kind=pt", "--encoder.heads=2"),
    "sorter": ("sort", "--attention=mean-field"),
    "another": ("sort",),
    "third": ("sort",),
    "words": ("lm",),
    "tagger": ("tag",),
    "parser": ("dependency",),
    "entities": ("ner",),
}
"""The task and options of models by their names, where a page does not train them."""

WITH_MODEL = ("evaluate", "predict", "select", "show", "generate", "card")


def commands(page: Path) -> Iterator[str]:
    for language, block in BLOCK.findall(text_of(page)):
        if language == "console":
            whole = block.replace("\\\n", " ")
            yield from (line.removeprefix("$ ") for line in whole.splitlines() if line.startswith("$ "))


def runs(command: str) -> bool:
    return not any(re.search(pattern, command) for pattern in NOT_RUN)


CONSOLE = [page for page in PAGES if any(map(runs, commands(page)))]


@pytest.mark.filterwarnings("default")  # as they are for those who type the commands
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(
            page,
            id=name_of(page),
            marks=pytest.mark.slow if page.parent.name == "recipes" else (),  # guides run commands like theirs
        )
        for page in CONSOLE
    ],
)
def test_commands_run(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for command in filter(runs, commands(page)):
        pipeline(command, monkeypatch, capsys)


@pytest.mark.parametrize("pattern", NOT_RUN)
def test_what_is_not_run_is_still_somewhere(pattern):
    assert any(re.search(pattern, command) for page in PAGES for command in commands(page))


SCRIPTS = [
    pytest.param(block, id=f"{name_of(page)}-{number}")
    for page in PAGES
    for number, (language, block) in enumerate(BLOCK.findall(text_of(page)))
    if language == "bash"
]


@pytest.mark.parametrize("script", SCRIPTS)
def test_scripts_can_be_read_by_a_shell(script):
    done = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def pipeline(command: str, monkeypatch, capsys) -> None:
    """Runs a line of a shell, with `|` and `>`."""
    words = shlex.shlex(command, posix=True, punctuation_chars="|>")
    words.whitespace_split = True
    line, _, target = "\0".join(words).partition("\0>\0")
    given = b""
    for stage in line.split("\0|\0"):
        given = run(stage.split("\0"), given, monkeypatch, capsys)
    if target:
        Path(target).write_bytes(given)


def run(words: list[str], given: bytes, monkeypatch, capsys) -> bytes:
    """Runs one program; what it writes."""
    for picture in {"--codes", "--channels"} & set(words):
        words = [*words[:2], picture.strip("-"), *words[3:]]  # which not every model has
    prepare(words, capsys)
    if words[0] != "strukt":
        return subprocess.run(words, input=given, capture_output=True, check=True).stdout
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given), encoding="utf-8"))
    return call(shortened(words[1:]), capsys).encode()


def call(arguments: list[str], capsys) -> str:
    capsys.readouterr()
    try:
        code = main(arguments)
    except SystemExit as leaving:
        code = leaving.code or 0
    out, err = capsys.readouterr()
    assert code == 0, (arguments, err)
    assert not re.search(r"^error|^Traceback", err, re.MULTILINE), err
    return out


def shortened(arguments: list[str]) -> list[str]:
    """The same command, for a training of moments."""
    if arguments[0] == "make":
        return re.sub(r"\0-n\0\d+", "\0-n\0" + "60", "\0".join(arguments)).split("\0")
    if arguments[0] != "train" or "--print_config" in arguments:
        return arguments
    config = TASKS[arguments[1]].config_class()()
    unread = {name for criterion, names in UNREAD.items() if criterion in arguments for name in names}
    names = [name for name in SHORT if has(config, name) and name not in unread]
    return [*arguments, *(f"--{name}={SHORT[name]}" for name in names)]


def has(config: object, name: str) -> bool:
    """Whether a task has an option."""
    for part in name.split("."):
        config = getattr(config, part, None)
    return config is not None


def prepare(words: list[str], capsys) -> None:
    """Makes the corpora and models that a command needs, and makes room for what it writes."""
    options = dict(pairwise(words))
    if words[0] == "zcat":
        corpus("tag", words[1])
    elif words[0] == "cat":
        for name in words[1:]:
            corpus("dependency", name)
    elif words[1:2] == ["train"]:
        for name in {"--train", "--dev", "--unlabelled"} & options.keys():
            corpus(words[2], options[name])
        if "--encoder.pretrained" in options:  # a name on the hub, which is a folder here
            tiny_pretrained.save("bert", Path(options["--encoder.pretrained"]))
        if "--vectors" in options:
            Path(options["--vectors"]).write_text("".join(f"word{n} {n} {n % 5} 1\n" for n in range(20)))
    elif words[1:2] == ["convert"]:
        Path(words[2]).write_text(tiny_corpora.CONLL_2003)
    elif words[1:2] == ["check"]:
        corpus(words[2], words[3])
    elif len(words) > 2 and words[1] in WITH_MODEL:
        for name in [words[2], *(after for word, after in pairwise(words) if word == "--beside")]:
            model(name, capsys)
        task = json.loads(Path(words[2], "config.json").read_text())["task"]
        files = [word for word in words[3:] if re.search(r"\.(conllu|txt|tsv|ptb|jsonl)(\.gz)?$", word)]
        for name in files:
            if name != options.get("-o"):
                corpus(task, name)


def model(name: str, capsys) -> None:
    """Trains a model that is not there."""
    if Path(name).exists():
        return
    task, *options = MODELS[Path(name).name]
    suffix = {"constituency": "ptb", "ner": "jsonl", "sort": "txt", "lm": "txt"}.get(task, "conllu")
    made = f"made-{task}.{suffix}"
    corpus(task, made)
    call(shortened(["train", task, f"--train={made}", f"--dev={made}", "-o", name, *options]), capsys)


def corpus(task: str, name: str) -> None:
    """Writes a tiny corpus of a task in the format that the file name tells, unless it is there."""
    path = Path(name)
    if path.exists():
        return
    suffix = next(part for part in reversed(path.suffixes) if part != ".gz")
    path.parent.mkdir(parents=True, exist_ok=True)
    content = "".join(map(str, sentences(task, suffix, path.stem))).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def sentences(task: str, suffix: str, stem: str) -> Iterator[object]:
    if stem == "gaps":
        return iter(["the old _ sees a dog .\n"])
    if stem in ("raw", "text", "news"):
        return iter(PAIRS if task == "nli" else ["the old cat sees a dog .\n"])
    if task in LINES and suffix != ".conllu":
        return iter(LINES[task])
    if task == "cogs":
        return iter(random_logical_forms.read(random_logical_forms.lines(20, depth=1)))
    if task == "ner" and suffix == ".conllu":
        return iter(MENTIONS)
    if task == "pipeline":
        return iter(tiny_corpora.layers(12))
    if suffix == ".tsv":
        return iter(tiny_corpora.read_entities(Path()))
    if suffix == ".ptb":
        return iter(tiny_corpora.phrases(12))
    if suffix == ".jsonl":
        return iter(tiny_corpora.nested(12))
    return iter(tiny_corpora.trees(12))
