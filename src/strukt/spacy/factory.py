"""Registration with spaCy: the factory of the component, and the extension attribute for further results."""

# No `from __future__ import annotations`: spaCy validates configurations against the types of the factory.

from typing import TYPE_CHECKING

from spacy.language import Language
from spacy.tokens import Doc

if TYPE_CHECKING:
    from strukt.spacy.component import StruktComponent

EXTENSION = "strukt"
"""Name of the attribute ``doc._.strukt``: by component, a dictionary of results that fit no attribute of spaCy."""

if not Doc.has_extension(EXTENSION):
    Doc.set_extension(EXTENSION, default={})


@Language.factory(
    "strukt",
    default_config={"probabilities": False, "k": 0},
    assigns=["token.tag", "token.pos", "token.head", "token.dep", "doc.ents", "doc.spans", "doc._.strukt"],
)
def make_component(
    nlp: Language,  # noqa: ARG001  # spaCy passes it to every factory
    name: str,
    model: str,
    probabilities: bool,
    k: int,
) -> "StruktComponent":
    """Make the component of a pipeline; spaCy calls this for ``nlp.add_pipe("strukt", config={"model": ...})``.

    Args:
        nlp: The pipeline, which is ignored.
        name: Name of the component in the pipeline.
        model: The folder of a saved model, or `hf://user/name`; see `StruktComponent`.
        probabilities: Whether to compute probabilities; False if ``config`` does not set it.
        k: Maximum number of best structures to store; 0, the default of ``config``, for none.

    Raises:
        SettingError: If k is negative, or the model is for a task that `StruktComponent` does not list.
        DataError: If the folder contains no model, or a damaged one.
        MissingExtraError: If a package that the model needs is not installed.

    Examples:
        >>> import spacy
        >>> from tempfile import TemporaryDirectory
        >>> from strukt.data import conllu
        >>> from strukt.tasks.tag.config import Config
        >>> from strukt.tasks.tag.model import Tagger
        >>> from strukt.train.saved_model import save
        >>> sentence = conllu.from_forms(["Dogs", "bark"]).annotated(xpos=["NNS", "VBP"])
        >>> nlp = spacy.blank("en")
        >>> with TemporaryDirectory() as folder:
        ...     save(Tagger.from_corpus(Config(), [sentence]), folder)
        ...     component = make_component(nlp, "tagger", folder, probabilities=False, k=0)
        >>> component.name, component.labels
        ('tagger', ('NNS', 'VBP'))
    """
    from strukt.spacy.component import StruktComponent

    return StruktComponent(name, model, probabilities, k)
