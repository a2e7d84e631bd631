"""`strukt generate`: sample sentences from a language model."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, cast

from strukt.cli import console
from strukt.cli.console import UsageError
from strukt.cli.options import Parser, require_least
from strukt.data.vocabulary import END
from strukt.tasks.common.ranges import MOST_SEEDS

if TYPE_CHECKING:
    from argparse import Namespace

    from strukt.automata import Automaton
    from strukt.data.vocabulary import Vocabulary
    from strukt.tasks.common.model import Model
    from strukt.tasks.lm.model import LanguageModel

CONSTRAINTS = ("containing", "avoiding", "matching")
"""Options that constrain the sentences."""


def run(arguments: list[str]) -> int:
    """Write sentences, one per line."""
    options = _parser().parse(arguments)
    require_least(options, number=0, length=0, seed=0)
    if options.seed >= MOST_SEEDS:
        raise UsageError(f"--seed is {options.seed}; expected at most {MOST_SEEDS - 1}")
    requested = [name for name in CONSTRAINTS if getattr(options, name) is not None]
    if requested and options.length == 0:
        raise UsageError(f"--length is 0; expected 1 or more with --{requested[0]}")

    import torch

    from strukt.train import saved_model

    model = require_language_model(saved_model.load(options.model), "strukt generate")
    constraint = _constraint(options, model.words) if requested else None
    torch.manual_seed(options.seed)
    for words in model.generate(options.number, options.length, constraint):
        print(console.shown(" ".join(words), sys.stdout))
    return 0


def require_language_model(model: Model, what: str) -> LanguageModel:
    """Return the model, after checking that it is a language model.

    Args:
        model: A loaded model of any task.
        what: The feature that needs a language model, for the error message.

    Raises:
        UsageError: If the model is of another task.
    """
    if model.task != "lm":
        raise UsageError(f"{what} needs a language model; MODEL is of the task {model.task}")
    return cast("LanguageModel", model)


def _constraint(options: Namespace, words: Vocabulary) -> Automaton:
    """Return an automaton over word indices that accepts the sentences that the options allow.

    Raises:
        UsageError: If the model does not know a word, or the pattern is not a regular expression.
    """
    from strukt.automata import anything, avoiding, containing, matching

    allowed = anything(len(words))
    if options.containing:
        allowed &= containing(_phrases("containing", options.containing, words), len(words))
    if options.avoiding:
        allowed &= avoiding(_phrases("avoiding", options.avoiding, words), len(words))
    if options.matching is not None:
        try:
            allowed &= matching(options.matching, words.symbols, separator=" ")
        except ValueError as error:
            raise UsageError(f"--matching: {error}") from None
    return allowed


def _phrases(name: str, phrases: list[str], words: Vocabulary) -> list[list[int]]:
    """Return the word indices of each phrase; raise `UsageError` if one is empty or has an unknown word."""
    for phrase in phrases:
        if not phrase.split():
            raise UsageError(f"--{name} is {phrase!r}; expected one or more words, separated by spaces")
        for word in phrase.split():
            if word == END:
                message = f"{word!r} ends each sentence and is not part of it; for the last words, use --matching"
                raise UsageError(f"--{name}: {message}")
            if word not in words:
                raise UsageError(f"--{name}: the model does not know the word {word!r}")
    return [words.indices(phrase.split()) for phrase in phrases]


def _parser() -> Parser:
    parser = Parser("generate", "Sample sentences from a language model, one per line.")
    parser.add_argument("model", metavar="MODEL", help="folder of a saved language model")
    parser.add_argument("-n", "--number", type=int, default=10, help="number of sentences (10)")
    parser.add_argument(
        "--length", type=int, default=40, help="maximum number of words; longer sentences are cut off (40)"
    )
    parser.add_argument("--seed", type=int, default=1, help="random seed (1)")
    constraint = parser.add_argument_group("constraints, for models with hidden states and for grammars")
    constraint.add_argument(
        "--containing",
        metavar="WORDS",
        action="append",
        help="word or phrase that each sentence must contain; may be repeated",
    )
    constraint.add_argument(
        "--avoiding",
        metavar="WORDS",
        action="append",
        help="word or phrase that no sentence may contain; may be repeated",
    )
    constraint.add_argument(
        "--matching",
        metavar="PATTERN",
        help="regular expression, in the syntax of Python, that each whole sentence must match",
    )
    return parser
