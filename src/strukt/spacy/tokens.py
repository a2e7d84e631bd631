"""Conversion of a spaCy `Doc` to the sentences that a model reads, and of indices of words to those of tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from spacy.tokens import Doc, Span

from strukt.data import conllu

ROOT = "ROOT"
"""The label of the arc from the root, which spaCy writes in capitals, unlike treebanks."""

SPACE_ARC = "dep"
"""The label of the arc to a token of white space, as spaCy's own parsers learn it."""

_NO_TEXT = str.maketrans(dict.fromkeys("\t\n\r\0", "\N{REPLACEMENT CHARACTER}"))
"""Replaces characters that a `Doc` may have in a word, but a corpus may not."""


@dataclass(frozen=True)
class SentenceTokens:
    """The tokens of a sentence, and those that are words: spaCy has tokens of white space, too.

    Args:
        start: The index of the first token in its `Doc`.
        end: The index after that of the last token.
        words: The indices of the tokens that a model reads, in order.
    """

    start: int
    end: int
    words: Sequence[int]

    def of_tokens(self, values: Iterable[Any], of_space: Any) -> list[Any]:
        """Expand values of words to values of tokens; tokens of white space get `of_space`.

        Examples:
            >>> SentenceTokens(4, 7, (4, 6)).of_tokens(["DT", "NN"], "_SP")
            ['DT', '_SP', 'NN']
        """
        result = [of_space] * (self.end - self.start)
        for token, value in zip(self.words, values, strict=True):
            result[token - self.start] = value
        return result

    def heads(self, heads: Sequence[int]) -> list[int]:
        """Return the head of each token as an index in its `Doc`; a root is its own head.

        The head of a token of white space is the word before it, or else the first word, as in the data from which
        spaCy's own parsers learn. In a sentence without words, each token is a root.

        Args:
            heads: The head of each word, counted from 1 in the sentence; 0 for the root.

        Examples:
            >>> SentenceTokens(4, 8, (5, 7)).heads([2, 0])  # the tokens 4 and 6 are white space
            [5, 7, 5, 7]
        """
        nearest = self.words[0] if self.words else None
        head_of = dict(zip(self.words, heads, strict=True))
        result = []
        for token in range(self.start, self.end):
            if token in head_of:
                nearest = token
                result.append(self.words[head_of[token] - 1] if head_of[token] else token)
            else:
                result.append(token if nearest is None else nearest)
        return result

    def labels(self, labels: Iterable[str]) -> list[str]:
        """Return the label of the arc to each token, in spaCy's terms, from the labels for words.

        "root" becomes `ROOT`. Tokens of white space get `SPACE_ARC`; in a sentence without words they get `ROOT`.
        """
        named = [ROOT if label == ROOT.lower() else label for label in labels]
        return self.of_tokens(named, SPACE_ARC if self.words else ROOT)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Convert a span of words to a span of tokens: its first token, and the token after its last.

        Examples:
            >>> SentenceTokens(4, 8, (5, 7)).span(0, 2)
            (5, 8)
        """
        return self.words[start], self.words[end - 1] + 1

    def sentence(self, doc: Doc) -> conllu.Sentence:
        """Return the words as a sentence, ready to be annotated.

        Raises:
            ValueError: If the sentence has no words.
        """
        return conllu.from_forms([doc[token].text.translate(_NO_TEXT) for token in self.words])


def sentence_tokens(doc: Doc) -> list[SentenceTokens]:
    """Divide a `Doc` into its sentences; without sentence boundaries, it is one sentence.

    Args:
        doc: A document of any length.

    Returns:
        The sentences in order, which together have all tokens; an empty document has one empty sentence.
    """
    return [
        SentenceTokens(span.start, span.end, [token.i for token in span if token.text.strip()])
        for span in _spans(doc)
    ]


def sentences(doc: Doc) -> list[conllu.Sentence]:
    """Return the sentences of a spaCy document as input for strukt's models: their words, without white space.

    Annotation of the document is ignored, except sentence boundaries. A document without boundaries, such as one
    from a pipeline with neither a parser nor a `sentencizer`, is one sentence.

    Args:
        doc: A document of any length.

    Returns:
        The sentences in order, without those that have no words.

    Examples:
        >>> import spacy
        >>> nlp = spacy.blank("en")
        >>> _ = nlp.add_pipe("sentencizer")
        >>> [sentence.forms for sentence in sentences(nlp("It works.  Try it!"))]
        [['It', 'works', '.'], ['Try', 'it', '!']]
    """
    return [tokens.sentence(doc) for tokens in sentence_tokens(doc) if tokens.words]


def _spans(doc: Doc) -> Iterator[Span]:
    """Yield the sentences of a document, or the whole document if it has no sentence boundaries."""
    if len(doc) and doc.has_annotation("SENT_START"):
        yield from doc.sents
    else:
        yield doc[:]
