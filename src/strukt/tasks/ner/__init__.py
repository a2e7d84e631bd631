"""Named entity recognition; entities may contain one another."""

from strukt.tasks.ner.config import Config

__all__ = ["Config"]
