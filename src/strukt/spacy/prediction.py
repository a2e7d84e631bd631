"""Predictions for the tokens of a sentence, as lists, strings and numbers that spaCy can save with the `Doc`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from strukt.spacy.analysis import Analysis, TagAttribute
from strukt.spacy.k_best import Best
from strukt.spacy.tokens import SentenceTokens

SPACE_TAG: Mapping[TagAttribute, str] = {"tag_": "_SP", "pos_": "SPACE"}
"""The tag of tokens of white space, by attribute, as spaCy's own taggers learn it."""


class SentencePrediction(NamedTuple):
    """The predictions of a model for a sentence of a `Doc`.

    Attributes:
        tokens: The tokens of the sentence.
        analysis: The best structure over the words of the sentence.
        best: The k best structures of each component of the model, if requested.

    Examples:
        >>> tokens = SentenceTokens(4, 7, (4, 6))  # the token 5 is white space
        >>> SentencePrediction(tokens, Analysis(heads=(2, 0), relations=("nsubj", "root"))).structure("tag_")
        {'heads': [6, 4, 6], 'deps': ['nsubj', 'dep', 'ROOT']}
    """

    tokens: SentenceTokens
    analysis: Analysis
    best: Best = MappingProxyType({})

    def structure(self, attribute: TagAttribute) -> dict[str, list[Any]]:
        """Return those of ``tags``, ``heads``, ``deps`` and ``spans`` that the model predicts, over tokens.

        Heads are indices in the `Doc`. A span is a list: its first token, the token after its last, its label.

        Args:
            attribute: The attribute of tokens that the tags belong to.
        """
        return _over(self.tokens, self.analysis, attribute)

    def ranked(self, attribute: TagAttribute) -> dict[str, list[dict[str, Any]]]:
        """Return the k best structures of each component, in the format of `structure`, with ``probability``."""
        return {
            name: [
                {"probability": probability, **_over(self.tokens, analysis, attribute)}
                for probability, analysis in best
            ]
            for name, best in self.best.items()
        }

    def probabilities(self) -> dict[str, list[Any]]:
        """Return the probabilities of tags, arcs and spans of the best structure, which must have been requested.

        Returns:
            ``probabilities``, ``label_probabilities`` and ``tag_probabilities`` of each token, None for white
            space, and ``span_probabilities`` of each span; only those that the model predicts.
        """
        analysis, result = self.analysis, {}
        if analysis.word_probabilities is not None:
            result["probabilities"] = self.tokens.of_tokens(analysis.word_probabilities, None)
        if analysis.relation_probabilities is not None:
            result["label_probabilities"] = self.tokens.of_tokens(analysis.relation_probabilities, None)
        if analysis.tag_probabilities is not None:
            result["tag_probabilities"] = self.tokens.of_tokens(analysis.tag_probabilities, None)
        if analysis.span_probabilities is not None:
            result["span_probabilities"] = list(analysis.span_probabilities)
        return result


def joined(sentences: Sequence[Mapping[str, list[Any]]]) -> dict[str, list[Any]]:
    """Concatenate the predictions for the sentences of a `Doc`, of which there is at least one.

    Examples:
        >>> joined([{"tags": ["UH"]}, {"tags": ["VB", "."]}])
        {'tags': ['UH', 'VB', '.']}
    """
    return {name: [part for each in sentences for part in each[name]] for name in sentences[0]}


def _over(tokens: SentenceTokens, analysis: Analysis, attribute: TagAttribute) -> dict[str, list[Any]]:
    """Convert an analysis of words to one of tokens, in the format of `SentencePrediction.structure`."""
    result: dict[str, list[Any]] = {}
    if analysis.tags is not None:
        result["tags"] = tokens.of_tokens(analysis.tags, SPACE_TAG[attribute])
    if analysis.heads is not None and analysis.relations is not None:
        result["heads"] = tokens.heads(analysis.heads)
        result["deps"] = tokens.labels(analysis.relations)
    if analysis.spans is not None:
        result["spans"] = [[*tokens.span(start, end), label] for start, end, label in analysis.spans]
    return result
