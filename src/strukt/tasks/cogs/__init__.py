"""Semantic parsing as tagging: five tags for each word, which encode the logical form."""

from strukt.tasks.cogs.config import Config

__all__ = ["Config"]
