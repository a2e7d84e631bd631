"""Vocabularies of symbols and of binary codes, and vectors of words."""

from strukt.data.vocabulary.vocabulary import CLS, END, MASK, PADDING, SPECIALS, UNKNOWN, Vocabulary

__all__ = ["CLS", "END", "MASK", "PADDING", "SPECIALS", "UNKNOWN", "Vocabulary"]
