"""The jobs that strukt is made for; a new one is a module here and a line in `TASKS`."""

from __future__ import annotations

TASKS: dict[str, str] = {
    "tag": "strukt.tasks.tag",
    "dependency": "strukt.tasks.dependency",
    "constituency": "strukt.tasks.constituency",
    "ner": "strukt.tasks.ner",
    "pipeline": "strukt.tasks.pipeline",
    "classify": "strukt.tasks.classify",
    "dictionary": "strukt.tasks.dictionary",
    "mlm": "strukt.tasks.mlm",
    "lm": "strukt.tasks.lm",
    "sort": "strukt.tasks.sort",
    "count": "strukt.tasks.count",
    "cogs": "strukt.tasks.cogs",
    "nli": "strukt.tasks.nli",
    "listops": "strukt.tasks.listops",
}
"""Each task's module, which has `Config`, `SUMMARY`, `READERS` and `model_class()` and imports nothing heavy."""
