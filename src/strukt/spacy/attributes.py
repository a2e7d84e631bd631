"""Set tags, dependency trees, entities and other spans on a spaCy `Doc`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from spacy.tokens import Doc, Span

from strukt.spacy.analysis import TagAttribute

if TYPE_CHECKING:
    from thinc.types import Ints2d

LabelledSpan = tuple[int, int, str]
"""Index of the first token, index after the last token, and label."""


def write(
    doc: Doc,
    name: str,
    structure: Mapping[str, Sequence[Any]],
    attribute: TagAttribute,
    are_entities: bool,
) -> None:
    """Set all predictions of a model on a document.

    Args:
        doc: The document.
        name: Name of the component, under which spans are stored.
        structure: A dictionary of any of ``tags``; ``heads`` with ``deps``; and ``spans``. The first three have an
            entry for each token. Heads are indices in the document, and a root is its own head; spans are
            `LabelledSpan`.
        attribute: The attribute of tokens that the tags belong to.
        are_entities: Whether the spans are entities.
    """
    if "tags" in structure:
        set_tags(doc, attribute, structure["tags"])
    if "heads" in structure:
        set_tree(doc, structure["heads"], structure["deps"])
    if "spans" in structure:
        set_spans(doc, name, structure["spans"])
        if are_entities:
            add_entities(doc, structure["spans"])


def set_tags(doc: Doc, attribute: TagAttribute, tags: Sequence[str]) -> None:
    """Set the tag of each token, replacing earlier tags."""
    for token, tag in zip(doc, tags, strict=True):
        setattr(token, attribute, tag)


def set_tree(doc: Doc, heads: Sequence[int], labels: Sequence[str]) -> None:
    """Set the head of each token and the label of its arc, replacing earlier arcs; each tree becomes a sentence.

    Args:
        doc: The document.
        heads: The position of each token's head in the document; a root is its own head.
        labels: The arc label of each token, which must not be empty.
    """
    offsets = np.array([head - token for token, head in enumerate(heads)], dtype=np.int64)
    numbers = np.array([doc.vocab.strings.add(label) for label in labels], dtype=np.uint64)
    doc.from_array(["HEAD", "DEP"], cast("Ints2d", np.stack([offsets.astype(np.uint64), numbers], axis=-1)))


def set_spans(doc: Doc, key: str, spans: Sequence[LabelledSpan]) -> None:
    """Set a group of spans, which may nest, replacing an earlier group with this key."""
    doc.spans[key] = [Span(doc, start, end, label=label) for start, end, label in spans]


def add_entities(doc: Doc, spans: Sequence[LabelledSpan]) -> None:
    """Add the outermost of some spans to the entities.

    Earlier entities stay, such as those of an entity ruler earlier in the pipeline. Spans that overlap them are
    left out, as spaCy's own recogniser does. Of several spans over the same tokens, the first is added.

    Args:
        doc: The document.
        spans: The spans to choose from, which may nest.
    """
    entities = list(doc.ents)
    taken = {token for entity in entities for token in range(entity.start, entity.end)}
    for start, end, label in sorted(spans, key=lambda span: (span[0], -span[1])):
        if taken.isdisjoint(range(start, end)):
            taken.update(range(start, end))
            entities.append(Span(doc, start, end, label=label))
    doc.set_ents(entities)
