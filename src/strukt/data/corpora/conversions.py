"""Converting published corpora to files that the tasks read.

Each function takes the folder of a corpus, whose downloads are in `source/`, and yields the files to write:
their names and their lines, without line ends.
"""

from __future__ import annotations

import contextlib
import json
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import IO
from zipfile import BadZipFile, ZipFile

from strukt.data.files import lines
from strukt.data.text import tokenize
from strukt.errors import DataError

Conversion = Callable[[Path], Iterator[tuple[str, Iterable[str]]]]

SOURCE = "source"
"""The folder of downloaded files that no task reads directly."""

LARGEST_MEMBER = 1 << 30
"""Maximum size in bytes of a file in an archive; no corpus here has a larger one."""

SPLITS = ("train", "dev", "test")

_GUM_DEV = """
    academic_exposure academic_librarians bio_byron bio_emperor court_loan court_negligence interview_cyclone
    interview_gaming news_homeopathic news_iodine speech_impeachment speech_inauguration textbook_governments
    textbook_labor vlog_portland vlog_radiology voyage_athens voyage_coron"""
_GUM_TEST = """
    academic_discrimination academic_eegimaa bio_dvorak bio_jespersen court_insanity court_mitigation
    interview_hill interview_libertarian news_nasa news_sensitive speech_austria speech_newzealand
    textbook_chemistry textbook_union vlog_london vlog_studying voyage_oakland voyage_vavau"""

GUM_SPLITS = {**dict.fromkeys(_GUM_DEV.split(), "dev"), **dict.fromkeys(_GUM_TEST.split(), "test")}
"""The split of each document of GUM that its authors reserve for dev or test; all others are for training."""

_FAULTS = (  # errors that may occur in a file that differs from the published one
    BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    KeyError,
    TypeError,
    AttributeError,
    ValueError,
    RuntimeError,
)

INTENTS = (
    "AddToPlaylist",
    "BookRestaurant",
    "GetWeather",
    "PlayMusic",
    "RateBook",
    "SearchCreativeWork",
    "SearchScreeningEvent",
)
"""The classes of SNIPS."""


def gum(folder: Path) -> Iterator[tuple[str, Iterable[str]]]:
    """Yield bracketed trees, and CoNLL-U with heads and entities; GUM has one file of each per document.

    Raises:
        DataError: If a file cannot be read; raised when its lines are.
    """
    for kind, suffix in (("const", ".ptb"), ("dep", ".conllu")):
        documents: dict[str, list[Path]] = {split: [] for split in SPLITS}
        for path in sorted((folder / SOURCE / kind).glob(f"GUM_*{suffix}")):
            documents[GUM_SPLITS.get(path.stem.removeprefix("GUM_"), "train")].append(path)
        for split in SPLITS:
            yield split + suffix, chain.from_iterable(map(lines, documents[split]))


def litbank(folder: Path) -> Iterator[tuple[str, Iterable[str]]]:
    """Yield words with BIO labels of nested entities, a column for each layer of nesting.

    Of every ten documents in order of their names, the ninth is in dev and the tenth in test.

    Raises:
        DataError: If a file cannot be read; raised when its lines are.
    """
    documents: dict[str, list[Path]] = {split: [] for split in SPLITS}
    for number, path in enumerate(sorted((folder / SOURCE).glob("*_brat.tsv")), 1):
        documents[_tenth(number)].append(path)
    for split in SPLITS:
        yield f"{split}.tsv", chain.from_iterable(map(lines, documents[split]))


def listops(folder: Path) -> Iterator[tuple[str, Iterable[str]]]:
    """Yield expressions; of each of two files, 8,000 are for training, 1,000 for development, 1,000 for test.

    Raises:
        DataError: If a file cannot be read.
    """
    for kind in ("d20s", "d8"):
        expressions = list(lines(folder / SOURCE / f"test_{kind}.tsv"))
        for split, part in zip(
            SPLITS, (expressions[:8000], expressions[8000:9000], expressions[9000:]), strict=True
        ):
            yield f"{kind}-{split}.tsv", part


def polarity(folder: Path) -> Iterator[tuple[str, Iterable[str]]]:
    """Yield classes and sentences; of every ten in a class, the ninth is in dev and the tenth in test.

    Raises:
        DataError: If the archive cannot be read, or lacks a file.
    """
    rows: dict[str, list[str]] = {split: [] for split in SPLITS}
    for label, suffix in (("negative", "neg"), ("positive", "pos")):
        member = f"sentence_polarity/rt-polarity.{suffix}"
        with _member(folder / SOURCE / "sentence_polarity.zip", member) as stream:
            for number, line in enumerate(lines(stream), 1):
                rows[_tenth(number)].append(f"{label}\t{line.strip()}")
    for split in SPLITS:
        yield f"{split}.tsv", rows[split]


def snips(folder: Path) -> Iterator[tuple[str, Iterable[str]]]:
    """Yield sentences with their class in `intents-*.tsv`, and with their slots as BIO labels in `slots-*.tsv`.

    The splits are train and dev; SNIPS has no test sentences.

    Raises:
        DataError: If a file cannot be read, or does not have the form of the published one.
    """
    for split, pattern in (("train", "train_{}_full.json"), ("dev", "validate_{}.json")):
        paths = [folder / SOURCE / intent / pattern.format(intent) for intent in INTENTS]
        utterances = [
            (intent, pieces)
            for intent, path in zip(INTENTS, paths, strict=True)
            for pieces in _queries(path, intent)
        ]
        words = [[word for text, _ in pieces for word in tokenize(text)] for _, pieces in utterances]
        yield (
            f"intents-{split}.tsv",
            [f"{intent}\t{' '.join(row)}" for (intent, _), row in zip(utterances, words, strict=True)],
        )
        yield f"slots-{split}.tsv", chain.from_iterable(_slots(pieces) for _, pieces in utterances)


def snli(folder: Path) -> Iterator[tuple[str, Iterable[str]]]:
    """Yield premise, hypothesis and class of the pairs that have a class and no empty sentence.

    Raises:
        DataError: If the archive cannot be read, or differs from the published one; raised when its lines are.
    """
    for split in SPLITS:
        yield f"{split}.tsv", _pairs(folder / SOURCE / "snli_1.0.zip", f"snli_1.0/snli_1.0_{split}.jsonl")


def _tenth(number: int) -> str:
    """Return the split of a numbered item: of every ten, the ninth is in dev and the tenth in test."""
    return {9: "dev", 0: "test"}.get(number % 10, "train")


def _pairs(archive: Path, member: str) -> Iterator[str]:
    """Yield premise, hypothesis and class, separated by TABs, from JSON lines in the form of SNLI."""
    with _member(archive, member) as stream:
        for number, line in enumerate(lines(stream), 1):
            with _explained(archive, f"{member}, line {number}"):
                pair = json.loads(line)
                sentences = [" ".join(pair[key].split()) for key in ("sentence1", "sentence2")]
                label = pair["gold_label"]
            if label != "-" and all(sentences):
                yield "\t".join([*sentences, label])


def _queries(path: Path, intent: str) -> Iterator[list[tuple[str, str | None]]]:
    """Yield the pieces of each sentence: the text of a piece, and the slot that it fills, or None."""
    with _explained(path, intent):
        # One of the files encodes characters beyond the basic plane as two surrogates, which UTF-8 does not allow.
        text = (
            path.read_bytes()
            .decode("utf-8", "surrogatepass")
            .encode("utf-16", "surrogatepass")
            .decode("utf-16")
        )
        for query in json.loads(text)[intent]:
            yield [(piece["text"], piece.get("entity")) for piece in query["data"]]


def _slots(pieces: list[tuple[str, str | None]]) -> Iterator[str]:
    """Yield a line for each word of a sentence, with the BIO label of its slot, and then an empty line."""
    for text, slot in pieces:
        for position, word in enumerate(tokenize(text)):
            yield f"{word}\t{'O' if slot is None else ('I-' if position else 'B-') + slot}"
    yield ""


@contextlib.contextmanager
def _member(archive: Path, member: str) -> Iterator[IO[bytes]]:
    """Open a file in an archive in place: nothing is unpacked, so no path in the archive can do harm."""
    with _explained(archive, member), ZipFile(archive) as opened:
        if opened.getinfo(member).file_size > LARGEST_MEMBER:
            raise DataError(f"{member} has more than {LARGEST_MEMBER:,} bytes", archive)
        with opened.open(member) as stream:
            yield stream


@contextlib.contextmanager
def _explained(path: Path, place: str) -> Iterator[None]:
    """Return a context in which errors of a file that differs from the published one become a `DataError`.

    Args:
        path: The downloaded file.
        place: The place in the file, for the message.
    """
    try:
        yield
    except _FAULTS as error:
        raise DataError(
            f"differs from the published file ({place}: {error}); delete it to fetch it again", path
        ) from error
