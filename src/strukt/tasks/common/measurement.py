"""The quality of a model, and its uncertainty about a sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from strukt.data.sentence import Sentence


@dataclass(frozen=True)
class Measurement:
    """The quality of a model.

    Attributes:
        scores: The scores by name, in per cent unless the name says otherwise.
        details: Tables of scores, such as by label or by depth: ``details[table][row][column]``.

    Examples:
        >>> import io
        >>> from strukt.data import brackets
        >>> from strukt.tasks.constituency.config import Config
        >>> from strukt.tasks.constituency.model import ConstituencyParser
        >>> sentences = [*brackets.read(io.BytesIO(b"(S (NP (NNS Dogs)) (VP (VBP bark)))"))]
        >>> measured = ConstituencyParser.from_corpus(Config(), sentences).measure(sentences)
        >>> list(measured.scores), {table: list(rows) for table, rows in measured.details.items()}
        (['precision', 'recall', 'f1', 'exact', 'tagging'], {'label': ['NP', 'S', 'VP']})
    """

    scores: dict[str, float]
    details: dict[str, dict[str, dict[str, float]]]


class Undecided(NamedTuple):
    """A sentence, and the entropy of the prediction for it.

    Attributes:
        sentence: The sentence.
        entropy: Entropy of the distribution over its structures, per word, in nats, rounded to four decimals.

    Examples:
        >>> from strukt.data import conllu
        >>> from strukt.tasks.tag.config import Config
        >>> from strukt.tasks.tag.model import Tagger
        >>> sentence = conllu.from_forms(["Dogs", "bark"]).annotated(xpos=["NNS", "VBP"])
        >>> [undecided] = Tagger.from_corpus(Config(), [sentence]).most_undecided([sentence], count=1)
        >>> 0 <= undecided.entropy <= 0.6932  # log 2 for two tags
        True
    """

    sentence: Sentence
    entropy: float
