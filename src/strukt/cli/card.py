"""`strukt card`: the card of a model, which says what others need to know before they use it."""

from __future__ import annotations

import sys

from strukt.cli import console, corpora, outputs
from strukt.cli.options import Parser, add_format
from strukt.data import corpus


def run(arguments: list[str]) -> int:
    """Prints the card, or writes it."""
    options = _parser().parse(arguments)
    read = [options.test] if options.test else []
    corpora.require_files(read)
    if options.output is not None:
        outputs.require_free(options.output, read, options.force, [options.model])

    from pathlib import Path

    from strukt.data.files import atomic_write
    from strukt.train.hub import HubModel
    from strukt.train.model_card import Facts
    from strukt.train.trial import tried

    shared = HubModel.of_folder(options.model)
    trial = None
    if options.test:
        sentences = corpus.read_annotated(options.test, options.format, shared.model.readers())
        trial = tried(shared.model, sentences, options.test_name or Path(options.test).name)
    facts = Facts(options.licence, options.data, options.data_licence, options.language, trial)
    card = shared.generate_model_card(Path(options.model).resolve().name, facts)
    if options.output is None:
        print(console.shown(str(card), sys.stdout), end="")
        return 0
    with atomic_write(options.output) as stream:
        stream.write(str(card))
    console.message(f"written to {options.output}")
    return 0


def _parser() -> Parser:
    parser = Parser("card", "Writes the card of a model: data, metrics with intervals, speed, licence.")
    parser.add_argument("model", metavar="MODEL", help="folder of a saved model")
    parser.add_argument("-o", "--output", metavar="FILE", help="write this file, such as MODEL/README.md")
    parser.add_argument("--test", metavar="FILE", help="an annotated corpus to measure the model on")
    parser.add_argument("--test-name", metavar="NAME", help="of this corpus, if that of the file does not do")
    parser.add_argument("--licence", metavar="ID", help="of the model, as the hub has them: cc-by-sa-4.0")
    parser.add_argument(
        "--data",
        metavar="NAME",
        action="append",
        default=[],
        help="what it learned from; any number; if not given, what strukt data get has noted",
    )
    parser.add_argument("--data-licence", metavar="TEXT", help="of these data; if not given, as --data")
    parser.add_argument(
        "--language", metavar="CODE", action="append", default=[], help="such as en; any number"
    )
    add_format(parser)
    outputs.add_force(parser)
    return parser
