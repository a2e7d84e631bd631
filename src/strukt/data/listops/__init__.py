"""ListOps: expressions over lists of digits, and files with one expression and its value on each line."""

from strukt.data.listops.lines import ARITY, NONE, Sentence, missing, read, read_text, wrong

__all__ = ["ARITY", "NONE", "Sentence", "missing", "read", "read_text", "wrong"]
