"""ListOps: how many arguments each operator of an expression has, or what its value is, from a tree."""

from strukt.tasks.listops.config import Config

__all__ = ["Config"]
