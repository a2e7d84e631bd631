"""Corpora with other labels than those that a model predicts."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterable, Sequence

from strukt.data.constituents.binarisation import EMPTY
from strukt.data.files.problems import DataWarning
from strukt.data.sentence import Sentence
from strukt.data.tag_schemes import OUTSIDE
from strukt.errors import DataError
from strukt.tasks.common.encoded_model import EncodedModel
from strukt.tasks.common.model import Model

SHOWN = 5
"""Number of labels of the corpus and of the model that the warning names."""


def warn_of_unknown_labels(model: Model, sentences: Sequence[Sentence]) -> None:
    """Warn if a model knows no label of annotated sentences, so that its score on labels can only be 0.

    Args:
        model: The model.
        sentences: The sentences of a corpus; if a model cannot learn from them, they are not checked.

    Warns:
        DataWarning: If a vocabulary of the model has none of the labels of the corpus. "O" does not count.
    """
    if not sentences or not isinstance(model, EncodedModel):
        return
    place = f"{sentences[0].path}: " if sentences[0].path else ""
    with contextlib.suppress(DataError):
        for name, vocabulary in model.labels_of(model.config, sentences).items():
            both = (vocabulary, model.vocabularies[name])
            labels, known = (set(each.symbols) - {EMPTY, OUTSIDE} for each in both)
            if name in model.outputs and labels and not labels & known:
                warnings.warn(
                    f"{place}the model knows none of the labels {_first(labels)}; it has {_first(known)}",
                    DataWarning,
                    stacklevel=2,
                )
                return


def is_known(model: Model, sentence: Sentence) -> bool:
    """Return whether a sentence is annotated, and with no other labels than those that the model predicts."""
    try:
        model.require_annotated(sentence)  # an unlabelled corpus is learnt from, too
        model.collate([sentence])
    except (KeyError, DataError):
        return False
    return True


def _first(labels: Iterable[str]) -> str:
    shown = sorted(labels)
    return ", ".join(shown[:SHOWN]) + (f" and {len(shown) - SHOWN} more" if len(shown) > SHOWN else "")
