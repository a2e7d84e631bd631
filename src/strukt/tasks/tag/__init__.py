"""Tagging: a label for each word (parts of speech, named entities, slots)."""

from strukt.tasks.tag.config import Config

__all__ = ["Config"]
