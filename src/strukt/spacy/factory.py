"""The names that spaCy knows: of the component, and of the attribute with its further results."""

# Without `from __future__ import annotations`: spaCy checks a configuration against the types of the factory.

from typing import TYPE_CHECKING

from spacy.language import Language
from spacy.tokens import Doc

if TYPE_CHECKING:
    from strukt.spacy.component import StruktComponent

EXTENSION = "strukt"
"""The attribute ``doc._.strukt``: a dictionary with the results of components that fit no attribute of spaCy."""

if not Doc.has_extension(EXTENSION):
    Doc.set_extension(EXTENSION, default={})


@Language.factory(
    "strukt",
    default_config={"probabilities": False, "k": 0},
    assigns=["token.tag", "token.pos", "token.head", "token.dep", "doc.ents", "doc.spans", "doc._.strukt"],
)
def make_component(
    nlp: Language,  # noqa: ARG001  # spaCy hands it to every factory
    name: str,
    model: str,
    probabilities: bool,
    k: int,
) -> "StruktComponent":
    """Make the component of a pipeline; spaCy calls this for ``nlp.add_pipe("strukt", config={"model": ...})``.

    Args:
        nlp: The pipeline.
        name: Name of the component in the pipeline.
        model: As for `StruktComponent`.
        probabilities: As for `StruktComponent`.
        k: As for `StruktComponent`.
    """
    from strukt.spacy.component import StruktComponent

    return StruktComponent(name, model, probabilities, k)
