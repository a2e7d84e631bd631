"""`strukt generate`: sentences that a language model makes up."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, cast

from strukt.cli import console
from strukt.cli.console import UsageError
from strukt.cli.options import Parser

if TYPE_CHECKING:
    from strukt.tasks.common.model import Model
    from strukt.tasks.lm.model import LanguageModel


def run(arguments: list[str]) -> int:
    """Writes sentences, one a line."""
    options = _parser().parse(arguments)
    for name in ("number", "length", "seed"):
        if getattr(options, name) < 0:
            raise UsageError(f"--{name} is {getattr(options, name)}; expected 0 or more")

    import torch

    from strukt.train import bundle

    model = require_language_model(bundle.load(options.model), "strukt generate")
    torch.manual_seed(options.seed)
    for words in model.generate(options.number, options.length):
        print(console.shown(" ".join(words), sys.stdout))
    return 0


def require_language_model(model: Model, what: str) -> LanguageModel:
    """The model, if it is a language model.

    Args:
        model: A saved model.
        what: What needs it, for the message.

    Raises:
        UsageError: It is of another task.
    """
    if model.task != "lm":
        raise UsageError(f"{what} needs a language model; MODEL is of the task {model.task}")
    return cast("LanguageModel", model)


def _parser() -> Parser:
    parser = Parser("generate", "Writes sentences that a language model makes up, one a line.")
    parser.add_argument("model", metavar="MODEL", help="folder of a saved language model")
    parser.add_argument("-n", "--number", type=int, default=10, help="how many (10)")
    parser.add_argument("--length", type=int, default=40, help="words after which a sentence is cut off (40)")
    parser.add_argument("--seed", type=int, default=1, help="other numbers give other sentences (1)")
    return parser
