"""`strukt select`: select the sentences that a model is least certain about, which are worth annotating."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from strukt.cli import console, corpora, outputs
from strukt.cli.options import Parser, add_format, require_least
from strukt.cli.table import table
from strukt.viz.canvas.width import clip

if TYPE_CHECKING:
    from strukt.tasks.common.measurement import Undecided

NUMBER = 10
"""Default number of sentences."""

SHOWN = 60
"""Maximum width of a sentence in a table, in columns of a terminal."""


def run(arguments: list[str]) -> int:
    """Write the selected sentences in the format they were read in, the least certain first; or print a table."""
    options = _parser().parse(arguments)
    require_least(options, number=1)
    corpora.require_files(options.file)
    outputs.require_corpus(options.output, options.file, options.force, [options.model])

    from strukt.train import saved_model

    model = saved_model.load(options.model)
    sentences = corpora.read(options.file, options.format, model.readers())
    selected = model.most_undecided(sentences, options.number)
    with outputs.opened(options.output) as stream:
        if options.table:
            print(_table(selected), file=stream)
        else:
            for each in selected:
                stream.write(console.shown(str(each.sentence.standing_alone()), stream))
    return 0


def _table(selected: Sequence[Undecided]) -> str:
    """Format a table of sentences: words, number of words, entropy per word in nats, file and line."""
    rows = [("sentence", "words", "entropy per word", "place")]
    for sentence, entropy in selected:
        words = clip(" ".join(sentence.forms), SHOWN)
        rows.append((words, str(len(sentence)), f"{entropy:.4f}", f"{sentence.path}:{sentence.line}"))
    return table(rows)


def _parser() -> Parser:
    parser = Parser(
        "select",
        "Select the sentences that a model is least certain about: those with the highest entropy per word.",
    )
    parser.add_argument("model", metavar="MODEL", help="folder of a saved model")
    parser.add_argument(
        "file", metavar="FILE", nargs="+", help="corpora, annotated or not; - is standard input"
    )
    parser.add_argument(
        "-n", "--number", type=int, default=NUMBER, metavar="K", help=f"number of sentences ({NUMBER})"
    )
    parser.add_argument(
        "--table",
        action="store_true",
        help="print a table with entropy, file and line, instead of the sentences",
    )
    parser.add_argument("-o", "--output", metavar="OUT", help=outputs.HELP)
    add_format(parser)
    outputs.add_force(parser)
    return parser
