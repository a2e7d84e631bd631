"""Sentences that a task can read or train on."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from strukt.data.sentence import Sentence
from strukt.errors import DataError

Each = TypeVar("Each", bound=Sentence)


def require_format(sentence: Sentence, kind: type[Each], message: str) -> Each:
    """Return the sentence, after checking that it is of a format.

    Args:
        sentence: A sentence of any file.
        kind: The class of the sentences of the format.
        message: The text of the error.

    Raises:
        DataError: If the sentence is of another format.
    """
    if not isinstance(sentence, kind):
        raise DataError(message, sentence.path, sentence.line)
    return sentence


def require_sentences(config: Any, sentences: Sequence[Sentence]) -> None:
    """Check that there are sentences to train on.

    Args:
        config: The configuration of the task, which names the file of the corpus.
        sentences: The training corpus.

    Raises:
        DataError: If there are none.
    """
    if not sentences:
        raise DataError("holds no sentence to train on", config.train or None)


def trainable_sentences(
    sentences: Sequence[Each], are_trainable: Iterable[bool], fault: str
) -> list[Each]:
    r"""Return the sentences that a model can learn from; a warning counts the others.

    Args:
        sentences: The sentences of the training corpus.
        are_trainable: For each sentence, whether the model can learn from it.
        fault: The fault of the others, for the warning: "sentences have no annotation".

    Warns:
        UserWarning: If sentences are left out.

    Examples:
        >>> import io, warnings
        >>> from strukt.data import text
        >>> sentences = list(text.read(io.StringIO("It works\nSo")))
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warnings.simplefilter("always")
        ...     longer = trainable_sentences(sentences, [True, False], "sentences have one word")
        >>> [sentence.forms for sentence in longer]
        [['It', 'works']]
        >>> str(caught[0].message)
        '1 of 2 sentences have one word, and are left out of the training'
    """
    trainable = [sentence for sentence, kept in zip(sentences, are_trainable, strict=True) if kept]
    if omitted := len(sentences) - len(trainable):
        warnings.warn(
            f"{omitted} of {len(sentences)} {fault}, and are left out of the training", stacklevel=3
        )
    return trainable
