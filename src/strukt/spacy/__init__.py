"""Saved models as components of a spaCy pipeline: ``nlp.add_pipe("strukt", config={"model": "folder"})``.

spaCy finds the component by itself, without an import of this package, because strukt's entry point
`spacy_factories` names it.
"""

from strukt.errors import MissingExtraError

try:
    import spacy  # noqa: F401  # the library, not this package, of which all imports are absolute
except ImportError as error:
    raise MissingExtraError("spacy", "spacy") from error

from strukt.spacy.component import StruktComponent, make_component
from strukt.spacy.tokens import sentences

__all__ = ["StruktComponent", "make_component", "sentences"]
