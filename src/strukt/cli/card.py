"""`strukt card`: write a model card, which describes the model to its users."""

from __future__ import annotations

import sys

from strukt.cli import console, corpora, outputs
from strukt.cli.options import Parser, add_format
from strukt.data import corpus


def run(arguments: list[str]) -> int:
    """Print the card, or write it to a file.

    Raises:
        UsageError: If an option is invalid or has no effect, or the output may not be written.
        DataError: If the model or the test corpus cannot be read.
    """
    options = _parser().parse(arguments)
    for name in ("test_name", "format"):
        if getattr(options, name) and not options.test:
            option = f"--{name.replace('_', '-')}"
            raise console.UsageError(f"{option} describes the corpus of --test; give one, or omit it")
    read = [options.test] if options.test else []
    corpora.require_files(read)
    if options.output is not None:
        outputs.require_free(options.output, read, options.force, [options.model])

    from pathlib import Path

    from strukt.train.hub import HubModel
    from strukt.train.model_card import Facts
    from strukt.train.trial import run_trial

    shared = HubModel.of_folder(options.model)
    trial = None
    if options.test:
        sentences = corpus.read_annotated(options.test, options.format, shared.model.readers())
        trial = run_trial(shared.model, sentences, options.test_name or Path(options.test).name)
    facts = Facts(options.licence, options.data, options.data_licence, options.language, trial)
    card = shared.generate_model_card(Path(options.model).resolve().name, facts)
    if options.output is None:
        print(console.shown(str(card), sys.stdout), end="")
        return 0
    outputs.write(options.output, str(card))
    return 0


def _parser() -> Parser:
    parser = Parser("card", "Write a model card: data, scores with intervals, speed, licence.")
    parser.add_argument("model", metavar="MODEL", help="folder of a saved model")
    parser.add_argument("-o", "--output", metavar="FILE", help="write to this file, such as MODEL/README.md")
    parser.add_argument("--test", metavar="FILE", help="annotated corpus to evaluate the model on")
    parser.add_argument("--test-name", metavar="NAME", help="name of the test corpus (the name of the file)")
    parser.add_argument(
        "--licence", metavar="ID", help="licence of the model: an identifier of the hub, such as cc-by-sa-4.0"
    )
    parser.add_argument(
        "--data",
        metavar="NAME",
        action="append",
        default=[],
        help="name of the training data; may be repeated (the one that strukt data get recorded)",
    )
    parser.add_argument(
        "--data-licence",
        metavar="TEXT",
        help="licence of the training data (the one that strukt data get recorded)",
    )
    parser.add_argument(
        "--language",
        metavar="CODE",
        action="append",
        default=[],
        help="language code, such as en; may be repeated",
    )
    add_format(parser)
    outputs.add_force(parser)
    return parser
