"""Named entities, one inside another too."""

from strukt.tasks.ner.config import Config

__all__ = ["Config"]
