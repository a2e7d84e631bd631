"""Tasks: each has a folder with a configuration and a model, and a line in `TASKS`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pkgutil import resolve_name
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from strukt.tasks.common.config import FittingConfig
    from strukt.tasks.common.model import Model


@dataclass(frozen=True)
class Task:
    """A task: its configuration and its model, which are imported on demand.

    The configuration is the class `Config` in the module `config` next to the module of the model. A model imports
    its configuration, never the other way round, so that options and help do not need PyTorch.

    Attributes:
        model: Module and class of the model, separated by a colon.

    Examples:
        >>> TASKS["tag"].config_class()().criterion
        'cross-entropy'
        >>> TASKS["tag"].model_class().__name__
        'Tagger'
    """

    model: str

    def config_class(self) -> type[FittingConfig]:
        """Import and return the class of the configuration, without importing PyTorch."""
        package = self.model.rpartition(".")[0]
        config: type[FittingConfig] = resolve_name(f"{package}.config:Config")
        return config

    def model_class(self) -> type[Model]:
        """Import and return the class of the model, which imports PyTorch."""
        model: type[Model] = resolve_name(self.model)
        return model


TASKS: Mapping[str, Task] = MappingProxyType(
    {
        "tag": Task("strukt.tasks.tag.model:Tagger"),
        "dependency": Task("strukt.tasks.dependency.model:Parser"),
        "constituency": Task("strukt.tasks.constituency.model:ConstituencyParser"),
        "ner": Task("strukt.tasks.ner.model:EntityModel"),
        "pipeline": Task("strukt.tasks.pipeline.model:Pipeline"),
        "classify": Task("strukt.tasks.classify.model:Classifier"),
        "dictionary": Task("strukt.tasks.dictionary.model:ReverseDictionary"),
        "mlm": Task("strukt.tasks.mlm.model:MaskedLanguageModel"),
        "lm": Task("strukt.tasks.lm.model:LanguageModel"),
        "sort": Task("strukt.tasks.sort.model:Sorter"),
        "count": Task("strukt.tasks.count.model:ChunkCounter"),
        "cogs": Task("strukt.tasks.cogs.model:SemanticParser"),
        "nli": Task("strukt.tasks.nli.model:EntailmentModel"),
        "listops": Task("strukt.tasks.listops.model:ListModel"),
    }
)
"""All tasks, by their names on the command line."""
