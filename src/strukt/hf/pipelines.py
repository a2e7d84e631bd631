"""The token-classification pipeline of transformers, extended to tag words with structured heads."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

import torch
from transformers import TokenClassificationPipeline
from transformers.pipelines.token_classification import AggregationStrategy

from strukt.hf.configuration import TAG_HEADS
from strukt.hf.modeling import StructuredHead


class WordTagPipeline(TokenClassificationPipeline):  # type: ignore[misc]
    """The pipeline "token-classification": word tags from a `StructuredHead`, piece tags from other models.

    Tags are those of the best sequence (Viterbi), which is the argmax of the logits, and never break the
    constraints; scores are the softmax of the logits. With the `aggregation_strategy` `none`, the result has an
    entry for each word; with all other strategies, an entry for each tagged span. Tags in `ignore_labels` (`O` by
    default) have no entry, and neither have words for which the tokenizer returns no piece, such as a control
    character. Running text is split into words by the tokenizer; pass `is_split_into_words=True` for a list of
    words.

    Models of other classes are handled as in `TokenClassificationPipeline`. The arguments, `values` and `options`,
    are those of that class; ``transformers.pipeline("token-classification", model=..., tokenizer=...)`` sets them.
    As with every pipeline, call `eval` on a new model first, to switch dropout off.

    Raises:
        ValueError: If the head of the model predicts no tags.

    Examples:
        >>> from strukt.hf import StructuredHead
        >>> from tokenizers import Tokenizer, models, pre_tokenizers
        >>> from transformers import BertConfig, BertModel, PreTrainedTokenizerFast, pipeline
        >>> words = Tokenizer(models.WordLevel({"[UNK]": 0, "Dogs": 1, "bark": 2}, "[UNK]"))
        >>> words.pre_tokenizer = pre_tokenizers.Whitespace()
        >>> tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, unk_token="[UNK]")
        >>> sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
        >>> encoder = BertModel(BertConfig(vocab_size=3, **sizes))
        >>> model = StructuredHead.from_encoder(encoder, ["N", "V"], head="crf").eval()
        >>> tagger = pipeline("token-classification", model=model, tokenizer=tokenizer)
        >>> [(word["word"], word["start"], word["end"], word["entity"] in "NV") for word in tagger("Dogs bark")]
        [('Dogs', 0, 4, True), ('bark', 5, 9, True)]
    """

    def __init__(self, *values: Any, **options: Any) -> None:
        super().__init__(*values, **options)
        if isinstance(self.model, StructuredHead) and self.model.config.head not in TAG_HEADS:
            raise ValueError(
                f"model has the head {self.model.config.head!r}, which predicts no tags; expected one of "
                f"{', '.join(TAG_HEADS)}. Call the model itself for its predictions"
            )

    def preprocess(self, sentence: Any, offset_mapping: Any = None, **parameters: Any) -> Iterator[dict[str, Any]]:
        """Encode a sentence, or its windows if `stride` is given, and add the word index of each piece.

        Args:
            sentence: A text, or a list of words with ``is_split_into_words=True``.
            offset_mapping: The start and end of each piece in the text; None if the tokenizer computes them.
            parameters: Options of the tokenizer, as in `TokenClassificationPipeline`.
        """
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
        """Collect the result of each word if the model is a `StructuredHead`, otherwise of each piece.

        The arguments, `values` and `options`, are those of `TokenClassificationPipeline`.
        """
        if not isinstance(self.model, StructuredHead):
            return super().gather_pre_entities(*values, **options)  # type: ignore[no-any-return]
        *others, _ = values
        # At this stage, aggregation strategies only differ in how they guess words, which are known here.
        pieces = super().gather_pre_entities(*others, AggregationStrategy.NONE, **options)
        words = options["word_ids"]
        return [
            self._joined(list(group))
            for _, group in groupby(pieces, key=lambda piece: words[piece["index"]])
        ]

    def _joined(self, pieces: list[dict[str, Any]]) -> dict[str, Any]:
        """Join the pieces of one word, with the scores of the first piece."""
        text = self.tokenizer.convert_tokens_to_string([piece["word"] for piece in pieces])
        return {**pieces[0], "word": text, "end": pieces[-1]["end"], "is_subword": False}
