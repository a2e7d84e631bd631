"""Language models: the probability of a text, of its next words, and of missing words."""

from strukt.tasks.lm.config import Config

__all__ = ["Config"]
