"""Classification: one class for each sentence."""

from strukt.tasks.classify.config import Config
from strukt.tasks.common.classes.config import LatentTreeConfig

__all__ = ["Config", "LatentTreeConfig"]
