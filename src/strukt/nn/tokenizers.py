"""Properties of Hugging Face tokenizers: prefixes of words, special pieces, the longest input."""

from __future__ import annotations

from typing import Any

from torch import nn


def word_prefix(tokenizer: Any) -> str:
    """Return the prefix with which a word is tokenised as in running text: a space for RoBERTa and GPT-2."""
    alone, within = (tokenizer(text, add_special_tokens=False)["input_ids"] for text in ("a", "a a"))
    return "" if within == alone + alone else " "


def special_pieces(tokenizer: Any) -> tuple[list[int], list[int]]:
    """Return the special pieces that the tokenizer adds before and after a sentence.

    Raises:
        ValueError: If they change the pieces of a word.
    """
    probe = tokenizer("a", add_special_tokens=False)["input_ids"]
    whole = tokenizer("a")["input_ids"]
    start = next((i for i in range(len(whole)) if whole[i : i + len(probe)] == probe), None)
    if start is None:
        raise ValueError("the tokenizer changes the pieces of a word when it adds special ones")
    return whole[:start], whole[start + len(probe) :]


def longest_input(tokenizer: Any, model: Any) -> int:
    """Return the maximum number of pieces in the input of the model, including special ones; 512 if unknown."""
    positions = int(getattr(model.config, "max_position_embeddings", None) or 512)
    positions = positions if positions > 0 else 512  # -1 for XLNet, which has no maximum
    tables = [module for name, module in model.named_modules() if name.endswith("position_embeddings")]
    if tables and isinstance(tables[0], nn.Embedding) and tables[0].padding_idx is not None:
        positions -= tables[0].padding_idx + 1  # positions of RoBERTa start after the padding index
    return min(positions, int(tokenizer.model_max_length))
