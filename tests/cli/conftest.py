"""A small treebank, and a tagger and a parser trained on it by the command line itself."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from strukt.cli.main import main
from strukt.data.corpora import embedded

SMALL = [
    "--encoder.layers=1",
    "--encoder.hidden=16",
    "--encoder.words=16",
    "--trainer.epochs=1",
    "--trainer.threads=1",
]


@pytest.fixture(scope="session")
def treebank(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """Paths of three small CoNLL-U files."""
    folder = tmp_path_factory.mktemp("treebank")
    paths = {}
    for split, size in (("train", 120), ("dev", 20), ("test", 40)):
        paths[split] = str(folder / f"{split}.conllu")
        Path(paths[split]).write_text(
            "".join(map(str, embedded.treebank(split, limit=size))), encoding="utf-8"
        )
    return SimpleNamespace(**paths)


def trained(folder: Path, task: str, treebank: SimpleNamespace, *options: str) -> str:
    model = str(folder / task)
    corpora = ["--train", treebank.train, "--dev", treebank.dev]
    assert main(["train", task, *corpora, "-o", model, *SMALL, *options]) == 0
    return model


@pytest.fixture(scope="session")
def tagger(tmp_path_factory: pytest.TempPathFactory, treebank: SimpleNamespace) -> str:
    return trained(tmp_path_factory.mktemp("tagger"), "tag", treebank, "--criterion=crf")


@pytest.fixture(scope="session")
def parser(tmp_path_factory: pytest.TempPathFactory, treebank: SimpleNamespace) -> str:
    return trained(
        tmp_path_factory.mktemp("parser"), "dependency", treebank, "--arc_size=16", "--label_size=16"
    )
