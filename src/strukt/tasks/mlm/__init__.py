"""Masked language models, which predict hidden words."""

from strukt.tasks.mlm.config import Config

__all__ = ["Config"]
