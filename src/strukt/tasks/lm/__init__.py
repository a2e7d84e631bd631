"""Language models: how probable a text is, which word comes next, and which are missing."""

from strukt.tasks.lm.config import Config

__all__ = ["Config"]
