"""Words as pieces (subword tokens): the word index of each piece, and word labels as labels of pieces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from strukt.hf.words import IGNORED

Span = tuple[int, int, int]
"""Index of the first word, index after the last word, and label index."""


def word_numbers(encoding: Any) -> Tensor:
    """Return the word index of each piece, for the argument `words` of a `StructuredHead`.

    In running text, the tokenizer decides what a word is; a punctuation mark usually is a word.

    Args:
        encoding: Output of a fast tokenizer for texts or lists of words.

    Returns:
        Word indices, ``(batch, pieces)``, -1 for special pieces and padding; a LongTensor on the CPU.

    Raises:
        ValueError: If the encoding is not of a fast tokenizer, the only kind that knows words, or its rows differ
            in length because they are not padded.

    Examples:
        >>> from tokenizers import Tokenizer, models, pre_tokenizers
        >>> from transformers import PreTrainedTokenizerFast
        >>> pieces = {"[PAD]": 0, "[UNK]": 1, "un": 2, "##do": 3, "it": 4}
        >>> model = Tokenizer(models.WordPiece(pieces, unk_token="[UNK]"))
        >>> model.pre_tokenizer = pre_tokenizers.Whitespace()
        >>> tokenizer = PreTrainedTokenizerFast(tokenizer_object=model, pad_token="[PAD]", unk_token="[UNK]")
        >>> word_numbers(tokenizer(["undo it", "undo"], padding=True))  # un ##do it
        tensor([[ 0,  0,  1],
                [ 0,  0, -1]])
    """
    if not getattr(encoding, "encodings", None):
        raise ValueError(
            f"encoding is a {type(encoding).__name__} without words; expected the result of a fast tokenizer of "
            "transformers (tokenizer.is_fast)"
        )
    rows = [[-1 if word is None else word for word in each.word_ids] for each in encoding.encodings]
    if len({len(row) for row in rows}) > 1:
        raise ValueError("encoding has rows of different lengths; expected padding=True for the tokenizer")
    return torch.tensor(rows, dtype=torch.long)


def encode_words(
    tokenizer: Any,
    words: Sequence[str],
    *,
    tags: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
    relations: Sequence[int] | None = None,
    spans: Sequence[Span] | None = None,
) -> dict[str, list[Any]]:
    """Split the words of a sentence into pieces, and encode their labels for a `StructuredHead`.

    Use it with `datasets.Dataset.map`. A word for which the tokenizer returns no piece (a control character)
    becomes the unknown piece. Sentences are truncated at the tokenizer's `model_max_length`, on its truncation
    side. Spans with a word that was cut off are left out, and heads that were cut off are unknown. In the result,
    heads and spans are counted from the first remaining word.

    Args:
        tokenizer: A fast tokenizer.
        words: The words of the sentence.
        tags: The tag index of each word; below 0 if unknown.
        heads: The head of each word, counted from 1, or 0 for the root, as in CoNLL-U; below 0 if unknown.
        relations: The label index of the arc to each word; below 0 if unknown. Pass both `heads` and `relations`,
            or neither.
        spans: First word (from 0), word after the last, and label index of each span. Spans may nest, but neither
            cross nor repeat.

    Returns:
        The output of the tokenizer; `words`, the word index of each piece, -1 for special pieces; and `labels`, if
        labels are given: tags or pairs of head and label at the first piece of each word, or the list of spans.

    Raises:
        ValueError: If the tokenizer is not fast, words is a single string, labels and words differ in number, a
            label is not a whole number, a head or span is outside the sentence, spans cross or repeat, labels of
            several kinds are given, `heads` or `relations` is missing, or a word has no piece and the tokenizer no
            unknown piece.

    Complexity: O(number of pieces), and O(s log s) for s spans.

    Examples:
        >>> from tokenizers import Tokenizer, models, pre_tokenizers
        >>> from transformers import PreTrainedTokenizerFast
        >>> pieces = {"[PAD]": 0, "[UNK]": 1, "un": 2, "##do": 3, "it": 4}
        >>> model = Tokenizer(models.WordPiece(pieces, unk_token="[UNK]"))
        >>> model.pre_tokenizer = pre_tokenizers.Whitespace()
        >>> tokenizer = PreTrainedTokenizerFast(tokenizer_object=model, pad_token="[PAD]", unk_token="[UNK]")
        >>> row = encode_words(tokenizer, ["undo", "it"], tags=[1, 0])
        >>> row["input_ids"], row["words"], row["labels"]
        ([2, 3, 4], [0, 0, 1], [1, -100, 0])
        >>> encode_words(tokenizer, ["undo", "it"], heads=[0, 1], relations=[3, 2])["labels"]
        [[0, 3], [-100, -100], [1, 2]]
    """
    if isinstance(words, str):
        raise ValueError(f"words is {words!r}; expected a list of words, such as {words.split()}")
    arcs = {"relations": relations} if heads is None else {"heads": heads}
    kinds = {"tags": tags, **arcs, "spans": spans}
    kinds_with_labels = [name for name, labels in kinds.items() if labels is not None]
    if len(kinds_with_labels) > 1:
        raise ValueError(
            f"{' and '.join(kinds_with_labels)} are given; expected labels of one kind, those of the head"
        )
    encoding = _encoded(tokenizer, words)
    numbers = [-1 if word is None else word for word in encoding.word_ids()]
    result = {**encoding, "words": numbers}
    kept = max(numbers, default=-1) + 1
    cut = min((word for word in numbers if word >= 0), default=0)  # words cut off on the left
    if tags is not None:
        _require_one_each("tags", tags, words)
        return result | {"labels": _at_first(numbers, list(tags), IGNORED)}
    if heads is not None or relations is not None:
        _require_one_each("heads", heads, words)
        _require_one_each("relations", relations, words)
        _require_heads(heads or (), len(words))
        pairs = [
            [_remaining_head(head, cut, kept), relation]
            for head, relation in zip(heads or (), relations or (), strict=True)
        ]
        return result | {"labels": _at_first(numbers, pairs, [IGNORED, IGNORED])}
    if spans is not None:
        _require_nested(spans, len(words))
        inside = [
            [start - cut, end - cut, label] for start, end, label in spans if cut <= start and end <= kept
        ]
        return result | {"labels": inside}
    return result


def _remaining_head(head: int, cut: int, kept: int) -> int:
    """Return a head counted from the first remaining word, or 0 for the root; -100 if unknown or cut off.

    Before truncation, the remaining words are numbered from ``cut + 1`` to ``kept``.
    """
    if head == 0:
        return 0
    return head - cut if cut < head <= kept else IGNORED


def _encoded(tokenizer: Any, words: Sequence[str]) -> Any:
    """Encode words with at least one piece for each, truncated at the maximum input length."""
    if not tokenizer.is_fast:
        kind = type(tokenizer).__name__
        raise ValueError(f"tokenizer is a {kind}, which does not know words; expected a fast one")
    options = {"is_split_into_words": True, "verbose": False}
    encoding = tokenizer(list(words), truncation=True, **options)
    if len({word for word in encoding.word_ids() if word is not None}) == len(words):
        return encoding
    there = set(tokenizer(list(words), add_special_tokens=False, **options).word_ids())
    absent = [index for index in range(len(words)) if index not in there]
    if absent and tokenizer.unk_token is None:
        raise ValueError(
            f"words has {words[absent[0]]!r} at {absent[0]}, for which the tokenizer has neither a piece nor an "
            "unknown piece; expected words with text"
        )
    named = [word if index in there else tokenizer.unk_token for index, word in enumerate(words)]
    return tokenizer(named, truncation=True, **options)


def _at_first(numbers: Sequence[int], values: Sequence[Any], other: Any) -> list[Any]:
    """Return the value of each word at its first piece, and `other` at all other pieces."""
    before = [-1, *numbers]
    return [
        values[word] if word >= 0 and word != last else other
        for word, last in zip(numbers, before, strict=False)
    ]


def _require_one_each(name: str, values: Sequence[int] | None, words: Sequence[str]) -> None:
    """Raise ValueError unless there is a whole number for each word."""
    count = "None" if values is None else f"of length {len(values)}"
    if values is None or len(values) != len(words):
        raise ValueError(f"{name} is {count}; expected {len(words)} numbers, one for each word")
    for value in values:
        if not hasattr(value, "__index__"):
            raise ValueError(f"{name} has {value!r}; expected a whole number")


def _require_heads(heads: Sequence[int], n: int) -> None:
    """Raise ValueError if a head lies after the sentence; heads below 0 are unknown."""
    for word, head in enumerate(heads, 1):
        if head > n:
            raise ValueError(f"heads has {head} for word {word}; expected 0 for the root, or a word up to {n}")


def _require_nested(spans: Sequence[Span], n: int) -> None:
    """Raise ValueError if a span is not three integers or not in the sentence, or two spans cross or are equal."""
    for span in spans:
        if len(span) != 3 or not all(hasattr(value, "__index__") for value in span):
            raise ValueError(f"spans has {span!r}; expected three whole numbers: start, end and label index")
    around: list[Span] = []
    for span in sorted(spans, key=lambda span: (span[0], -span[1])):
        start, end, _ = span
        if not 0 <= start < end <= n:
            raise ValueError(f"spans has {tuple(span)}; expected 0 <= start < end <= {n}, the number of words")
        while around and around[-1][1] <= start:
            around.pop()
        if around and (around[-1][1] < end or tuple(around[-1][:2]) == (start, end)):
            raise ValueError(
                f"spans has {tuple(around[-1])} and {tuple(span)}, which cross or are the same; expected spans "
                "that nest or are apart"
            )
        around.append(span)
