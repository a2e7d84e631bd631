"""ListOps: the arity of each operator of an expression, or the value of the expression, from a tree."""

from strukt.tasks.listops.config import Config

__all__ = ["Config"]
