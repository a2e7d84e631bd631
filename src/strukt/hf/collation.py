"""Batches of sentences that `encode_words` has encoded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from strukt.hf.words import IGNORED


@dataclass
class WordCollator:
    """Pad sentences to a batch: the `data_collator` of a `Trainer`, or the `collate_fn` of a `DataLoader`.

    Outputs of the tokenizer, `words` and labels of pieces are padded on the padding side of the tokenizer; lists
    of spans are padded at the end. The padding is -1 in `words` and -100 in labels. All other columns are dropped.

    Attributes:
        tokenizer: The tokenizer that encoded the sentences.
        pad_to_multiple_of: Pad the number of pieces of a row to a multiple of this number; None to pad only to the
            longest row.

    Examples:
        >>> from tokenizers import Tokenizer, models
        >>> from transformers import PreTrainedTokenizerFast
        >>> from strukt.hf import encode_words
        >>> words = Tokenizer(models.WordLevel({"[PAD]": 0, "Dogs": 1, "bark": 2}))
        >>> tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, pad_token="[PAD]")
        >>> sentences = {("Dogs", "bark"): [4, 5], ("bark",): [5]}
        >>> rows = [encode_words(tokenizer, words, tags=tags) for words, tags in sentences.items()]
        >>> WordCollator(tokenizer)(rows)["labels"]
        tensor([[   4,    5],
                [   5, -100]])
    """

    tokenizer: Any
    pad_to_multiple_of: int | None = None

    def __call__(self, features: Sequence[Mapping[str, Any]]) -> dict[str, Tensor]:
        """Pad encoded sentences to a batch of tensors.

        Args:
            features: The result of `encode_words` for each sentence, at least one; all with the same columns.

        Returns:
            Arguments of `StructuredHead.forward` by name, in the shapes that it takes, including `labels` if the
            sentences have labels.

        Raises:
            ValueError: If the tokenizer has no padding token.
        """
        names = [name for name in self.tokenizer.model_input_names if name in features[0]]
        inputs = [{name: feature[name] for name in names} for feature in features]
        batch: dict[str, Tensor] = {
            **self.tokenizer.pad(inputs, pad_to_multiple_of=self.pad_to_multiple_of, return_tensors="pt")
        }
        pieces = batch["input_ids"].shape[1]
        if "words" in features[0]:
            batch["words"] = self._padded([feature["words"] for feature in features], pieces, -1)
        if "labels" in features[0]:
            rows = [feature["labels"] for feature in features]
            batch["labels"] = _spans(rows) if _are_spans(rows) else self._padded(rows, pieces, IGNORED)
        return batch

    def _padded(self, rows: Sequence[Any], pieces: int, fill: int) -> Tensor:
        """Pad rows, which have a value for each piece, by `fill`; return one tensor `(batch, pieces, ...)`.

        The padding is on the padding side of the tokenizer.
        """
        tensors = [torch.as_tensor(row, dtype=torch.long) for row in rows]
        padded = torch.full((len(rows), pieces, *tensors[0].shape[1:]), fill)
        for target, row in zip(padded, tensors, strict=True):
            begin = pieces - len(row) if self.tokenizer.padding_side == "left" else 0
            target[begin : begin + len(row)] = row
        return padded


def _are_spans(rows: Sequence[Any]) -> bool:
    """Return True if labels are spans: triples, or only empty lists, because other labels are never empty."""
    first = next((row[0] for row in rows if len(row)), None)
    return first is None or torch.as_tensor(first).shape == (3,)


def _spans(rows: Sequence[Any]) -> Tensor:
    """Pad lists of spans at the end by -100; return one tensor `(batch, spans, 3)`."""
    padded = torch.full((len(rows), max(map(len, rows)), 3), IGNORED)
    for target, row in zip(padded, rows, strict=True):
        target[: len(row)] = torch.as_tensor(row, dtype=torch.long).reshape(-1, 3)
    return padded
