"""From the text of a file to its annotation, in the format in which it came."""

from __future__ import annotations

import io
import threading
import warnings
from collections.abc import Sequence
from pathlib import PurePath

from strukt.data import brackets, conllu, corpus
from strukt.data.entities import json_lines
from strukt.data.files.problems import DataWarning
from strukt.data.sentence import Sentence
from strukt.errors import DataError, StruktError
from strukt.serve.messages import FileAnswer, FileQuestion
from strukt.serve.workers import Deadline
from strukt.tasks.common.model import Model

SUFFIXES = {conllu.Sentence: ".conllu", brackets.Sentence: ".ptb", json_lines.Sentence: ".jsonl"}
"""The endings of file names that annotated plain text gets."""

_reading = threading.Lock()
"""Held by the thread that collects the warnings of a reader, since all threads share their filters."""


class FileError(StruktError):
    """A file cannot be annotated; the message names the line."""


def sentences_of(model: Model, file: FileQuestion, most: int) -> tuple[list[Sentence], list[str]]:
    """Read a file.

    Args:
        model: The model that is to annotate it.
        file: The file.
        most: The largest number of words of a sentence.

    Returns:
        The sentences, and what was repaired.

    Raises:
        FileError: If the file cannot be read, or a sentence has too many words.
    """
    stream = io.BytesIO(file.text.encode("utf-8", "surrogatepass"))
    stream.name = file.name
    try:
        with _reading, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", DataWarning)
            sentences = list(corpus.read(stream, file.format, model.readers()))
    except DataError as error:
        raise FileError(str(error)) from None
    for sentence in sentences:
        if (words := len(sentence)) > most:
            raise FileError(
                f"{file.name}:{sentence.line}: the sentence has {words} words; this service reads up to {most}"
            )
    return sentences, [str(warning.message) for warning in caught]


def annotated(
    model: Model, file: FileQuestion, sentences: Sequence[Sentence], notes: Sequence[str], deadline: Deadline
) -> FileAnswer:
    """Annotate the sentences of a file.

    Args:
        model: The model.
        file: The file.
        sentences: Its sentences.
        notes: What was repaired.
        deadline: Until when somebody waits.

    Raises:
        FileError: If the format has no place for the predictions; with the line of the first sentence.
        LateError: If the time has come before the last sentence is annotated.
    """
    predicted = []
    try:
        for sentence in model.predict(sentences, file.probabilities):
            deadline.check()
            predicted.append(sentence)
    except DataError as error:
        raise FileError(str(error)) from None
    return FileAnswer(
        name=_name(file.name, predicted),
        text="".join(map(str, predicted)),
        sentences=len(sentences),
        words=sum(map(len, sentences)),
        notes=list(notes),
    )


def _name(name: str, predicted: Sequence[Sentence]) -> str:
    """The name of the annotated file, whose ending tells its format."""
    path = PurePath(name)
    suffix = path.suffix
    if suffix == ".txt" and predicted:
        suffix = SUFFIXES.get(type(predicted[0]), suffix)
    return f"{path.stem}.annotated{suffix}"
