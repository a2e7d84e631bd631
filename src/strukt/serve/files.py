"""Annotation of a file whose content is sent in a request; the result has the format of the file."""

from __future__ import annotations

import io
import threading
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath

from strukt.data import brackets, conllu, corpus
from strukt.data.conllu import entity_notes
from strukt.data.entities import json_lines
from strukt.data.files.problems import DataWarning
from strukt.data.line_sentence import LineSentence
from strukt.data.sentence import Sentence
from strukt.errors import DataError, StruktError
from strukt.serve.messages import AnnotateRequest, AnnotateResponse
from strukt.serve.sentences import tokenized
from strukt.serve.workers import Deadline
from strukt.tasks.common.model import Model

SUFFIXES = {
    conllu.Sentence: ".conllu",
    entity_notes.Sentence: ".conllu",
    brackets.Sentence: ".ptb",
    json_lines.Sentence: ".jsonl",
    LineSentence: ".tsv",  # all other sentences of one line
}
"""Suffixes of the file names of annotated plain text, by the class of its sentences or a base of it."""

AT_A_TIME = 1000
"""Number of words of a file that are annotated at a time, before other requests have their turn."""

_reading = threading.Lock()
"""Held while the warnings of a reader are collected, because all threads share the warning filters."""


class FileError(StruktError):
    """A file cannot be annotated; the message names the line, if it is a line that is at fault."""


def sentences_of(model: Model, file: AnnotateRequest, most: int) -> tuple[list[Sentence], list[str]]:
    """Read the sentences of a file.

    Plain text is split into words by `sentences.tokenized`, like the text of a request.

    Args:
        model: The model that is to annotate the file.
        file: The request with the file.
        most: Maximum number of words of a sentence.

    Returns:
        The sentences, and notes on repairs.

    Raises:
        FileError: If the file cannot be read, or a sentence has too many words.
    """
    try:
        with _reading, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", DataWarning)
            sentences = list(_read(model, file))
    except DataError as error:
        raise FileError(str(error)) from None
    for sentence in sentences:
        if (words := len(sentence)) > most:
            raise FileError(
                f"{file.name}:{sentence.line}: the sentence has {words} words; this service reads up to {most}"
            )
    return sentences, [str(warning.message) for warning in caught]


def batches(sentences: Iterable[Sentence]) -> Iterator[list[Sentence]]:
    """Group the sentences of a file into batches of about `AT_A_TIME` words."""
    batch: list[Sentence] = []
    words = 0
    for sentence in sentences:
        batch.append(sentence)
        words += len(sentence)
        if words >= AT_A_TIME:
            yield batch
            batch, words = [], 0
    if batch:
        yield batch


def annotated(
    model: Model, file: AnnotateRequest, sentences: Sequence[Sentence], deadline: Deadline
) -> list[Sentence]:
    """Annotate sentences of a file.

    Args:
        model: The model that annotates the file.
        file: The request with the file.
        sentences: Sentences of the file, from `sentences_of`.
        deadline: The deadline of these sentences.

    Raises:
        FileError: If the format of a sentence cannot hold the predictions; the message names its line.
        LateError: If the deadline passes before the last sentence is annotated.
    """
    predicted = []
    try:
        for sentence in model.predict(sentences, file.probabilities):
            deadline.check()
            predicted.append(sentence)
    except DataError as error:
        raise FileError(str(error)) from None
    return predicted


def response(file: AnnotateRequest, predicted: Sequence[Sentence], notes: Sequence[str]) -> AnnotateResponse:
    """Return the annotated file as the response to its request.

    Args:
        file: The request with the file.
        predicted: The annotated sentences of the file.
        notes: Notes on repairs, from `sentences_of`.
    """
    return AnnotateResponse(
        name=_name(file.name, predicted),
        text="".join(map(str, predicted)),
        sentences=len(predicted),
        words=sum(map(len, predicted)),
        notes=list(notes),
    )


def _read(model: Model, file: AnnotateRequest) -> Iterator[Sentence]:
    """Read the sentences of a file in the format of the request, or else in that of the file's name."""
    readers = model.readers()
    stream = io.BytesIO()
    stream.name = file.name
    format = file.format or corpus.format_of(stream, readers)
    text = tokenized(file.text) if format == "text" else file.text
    stream.write(text.encode("utf-8", "surrogatepass"))
    stream.seek(0)
    return corpus.read(stream, format, readers)


def _name(name: str, predicted: Sequence[Sentence]) -> str:
    """Return a name for the annotated file, `NAME.annotated.SUFFIX`, with the suffix of its format."""
    path = PurePath(name)
    suffix = path.suffix
    if suffix == ".txt" and predicted:
        suffix = next((SUFFIXES[kind] for kind in type(predicted[0]).__mro__ if kind in SUFFIXES), suffix)
    return f"{path.stem}.annotated{suffix}"
