"""Semantic parsing as tagging: five tags for each word, which a logical form is made of."""

from strukt.tasks.cogs.config import Config

__all__ = ["Config"]
