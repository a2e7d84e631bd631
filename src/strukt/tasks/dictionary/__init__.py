"""Reverse dictionary: the word that a definition defines."""

from strukt.tasks.dictionary.config import Config

__all__ = ["Config"]
