"""The pipeline of transformers for tags, with words where a structured head needs them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

import torch
from transformers import TokenClassificationPipeline
from transformers.pipelines.token_classification import AggregationStrategy

from strukt.hf.modeling import StructuredHead


class WordTagPipeline(TokenClassificationPipeline):  # type: ignore[misc]
    """The pipeline "token-classification": tags of words from a `StructuredHead`, of pieces from other models.

    The tags are those of the best sequence, by Viterbi, and never break the constraints: the argmax of the logits
    of the heads `crf` and `bits`. The score is their softmax. A word has one entry, whatever the
    `aggregation_strategy`: `none` returns a tag for each word, all others the spans that tags write. Running text
    is cut into words by the tokenizer; a list of words is taken as it is with `is_split_into_words=True`.

    Models of other classes are treated as `TokenClassificationPipeline` does.
    """

    def preprocess(self, sentence: Any, offset_mapping: Any = None, **parameters: Any) -> Iterator[dict[str, Any]]:
        """Encode a sentence, or its windows with `stride`, and number the words."""
        parts = super().preprocess(sentence, offset_mapping, **parameters)
        if not isinstance(self.model, StructuredHead):
            yield from parts
            return
        options = {**parameters.get("tokenizer_params", {})}
        options["is_split_into_words"] = parameters.get("is_split_into_words", False)
        encoding = self.tokenizer(sentence, truncation=True, **options)
        for index, part in enumerate(parts):
            words = encoding.word_ids(index)
            numbers = torch.tensor([[-1 if word is None else word for word in words]])
            yield {**part, "words": numbers, "word_ids": words}

    def gather_pre_entities(self, *values: Any, **options: Any) -> list[dict[str, Any]]:
        """Collect what is known of each piece; of a `StructuredHead` of each word."""
        if not isinstance(self.model, StructuredHead):
            return super().gather_pre_entities(*values, **options)  # type: ignore[no-any-return]
        *others, _ = values
        # The strategy matters for guesses at words alone, which are known here.
        pieces = super().gather_pre_entities(*others, AggregationStrategy.NONE, **options)
        words = options["word_ids"]
        return [
            self._joined(list(group))
            for _, group in groupby(pieces, key=lambda piece: words[piece["index"]])
        ]

    def _joined(self, pieces: list[dict[str, Any]]) -> dict[str, Any]:
        """One word of its pieces, with the scores of the first."""
        text = self.tokenizer.convert_tokens_to_string([piece["word"] for piece in pieces])
        return {**pieces[0], "word": text, "end": pieces[-1]["end"], "is_subword": False}
