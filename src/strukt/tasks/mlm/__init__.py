"""Masked language models: which word stands where one is hidden."""

from strukt.tasks.mlm.config import Config

__all__ = ["Config"]
