"""`strukt demo`: train a parser for Python statements on the standard library, in a minute."""

from __future__ import annotations

import shlex
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import cast

from strukt.cli import console
from strukt.cli.console import UsageError
from strukt.cli.options import Parser
from strukt.cli.picture_output import draw
from strukt.cli.table import table
from strukt.data import conllu
from strukt.data.corpora import embedded
from strukt.data.files import atomic_write
from strukt.data.files.digests import explained
from strukt.metrics.attachment_scores import AttachmentScore
from strukt.tasks.common.config import OptimizerConfig, TrainerConfig
from strukt.tasks.common.encoder.config import EncoderConfig
from strukt.tasks.dependency import Config

SIZES: dict[embedded.Split, int] = {"train": 3000, "dev": 400, "test": 800}
"""Number of statements in each split; with more, scores would be better, but training would take longer."""

MARK = ".strukt-demo"
"""Name of an empty file that marks a folder as that of a demo."""


def run(arguments: list[str]) -> int:
    """Train a parser, compare it with a baseline, draw a statement, and suggest next steps."""
    folder = Path(_parser().parse(arguments).output)
    _claim(folder)
    console.message("Building a treebank from the Python standard library ...")
    splits = {split: embedded.treebank(split, limit=size) for split, size in SIZES.items()}
    _prepare(folder, splits)

    from strukt.train import saved_model
    from strukt.train.fit import fit

    console.message(f"Training a parser on {len(splits['train']):,} statements, in a minute or two ...")
    fit("dependency", configuration(folder), folder / "parser")
    model = saved_model.load(folder / "parser")
    predicted = cast(list[conllu.Sentence], list(model.predict(splits["test"])))
    guessed = Baseline(splits["train"]).predict(splits["test"])
    print(f"\nScores on {len(predicted):,} unseen statements:\n")
    print(_scores({"parser": predicted, "baseline: the head is the previous word": guessed}, splits["test"]))
    print("\nOne of these statements, as parsed:\n")
    draw(next(model.diagrams([_specimen(predicted)])))
    print(_next_steps(folder))
    return 0


class Baseline:
    """A baseline: attaches each word to the previous word, and the first word to the root.

    The relation of a word is the most frequent one of its form; for unseen forms, the most frequent one of all.

    Args:
        sentences: Annotated sentences with at least one word, in which the relations of each form are counted.
    """

    def __init__(self, sentences: Iterable[conllu.Sentence]) -> None:
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        overall: Counter[str] = Counter()
        for sentence in sentences:
            for form, relation in zip(sentence.forms, sentence.deprels, strict=True):
                counts[form][relation] += 1
                overall[relation] += 1
        self._relations = {form: relations.most_common(1)[0][0] for form, relations in counts.items()}
        self._usual = overall.most_common(1)[0][0]

    def predict(self, sentences: Iterable[conllu.Sentence]) -> list[conllu.Sentence]:
        """Return the sentences with the heads and relations that the baseline predicts."""
        return [
            sentence.annotated(
                head=range(len(sentence)),
                deprel=[self._relations.get(form, self._usual) for form in sentence.forms],
            )
            for sentence in sentences
        ]


def configuration(folder: Path) -> Config:
    """Return the configuration of a small parser, which trains in about a minute on two cores."""
    return Config(
        train=str(folder / "train.conllu"),
        dev=str(folder / "dev.conllu"),
        criterion="tree",
        trees="projective",
        arc_size=100,
        label_size=50,
        encoder=EncoderConfig(layers=1, hidden=100, words=50, character_size=48, affixes=0, dropout=0.2),
        optimizer=OptimizerConfig(learning_rate=4e-3, averaging=0.98),
        trainer=TrainerConfig(epochs=3, tokens=500),
    )


def _claim(folder: Path) -> None:
    """Create the folder of the demo; reject an existing folder with files unless an earlier demo made it."""
    with explained(folder, "written"):
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / MARK).exists() and any(folder.iterdir()):
            raise UsageError(
                f"{folder} holds files other than those of a demo; choose another folder with -o FOLDER"
            )
        (folder / MARK).touch()


def _prepare(folder: Path, splits: dict[embedded.Split, list[conllu.Sentence]]) -> None:
    """Write the treebank to the folder of the demo, and delete the parser of an earlier demo."""
    shutil.rmtree(folder / "parser", ignore_errors=True)
    for split, sentences in splits.items():
        with atomic_write(folder / f"{split}.conllu") as stream:
            stream.writelines(map(str, sentences))


def _scores(systems: Mapping[str, Sequence[conllu.Sentence]], gold: Sequence[conllu.Sentence]) -> str:
    """Return a table of UAS and LAS, with a row for each system and its predictions."""
    rows = [("", "UAS", "LAS")]
    for name, predicted in systems.items():
        metric = AttachmentScore()
        for right, guess in zip(gold, predicted, strict=True):
            metric.update(right.arcs, guess.arcs)
        results = metric.result()
        rows.append((name, f"{results['UAS']:.1f}", f"{results['LAS']:.1f}"))
    return table(rows)


def _specimen(sentences: Sequence[conllu.Sentence]) -> conllu.Sentence:
    """Choose a statement of 7 to 9 words, which fits a terminal, with the largest number of different heads."""
    candidates = [sentence for sentence in sentences if 7 <= len(sentence) <= 9] or sentences
    return max(candidates, key=lambda sentence: len(set(sentence.column("head"))))


def _next_steps(folder: Path) -> str:
    place = shlex.quote(str(folder))
    return f"""
Try next:
  strukt show {place}/parser "total = price * (1 + tax)" --probabilities
  strukt predict {place}/parser {place}/test.conllu --probabilities
  strukt serve {place}/parser
  strukt train tag --train {place}/train.conllu --dev {place}/dev.conllu -o {place}/tagger"""


def _parser() -> Parser:
    parser = Parser(
        "demo", "Train a small parser on a treebank built from the Python standard library, and try it."
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FOLDER",
        default="strukt-demo",
        help="folder for the treebank and the parser (strukt-demo)",
    )
    return parser
