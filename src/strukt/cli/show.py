"""`strukt show`: draws what a model makes of a sentence."""

from __future__ import annotations

import shutil
import sys

from strukt.cli import console
from strukt.cli.options import Parser
from strukt.cli.pictures import diagram_of
from strukt.data import conllu, text
from strukt.viz import canvas, html, terminal
from strukt.viz.diagram import Diagram


def run(arguments: list[str]) -> int:
    """Draws tags and arcs in the terminal, or writes a page with them."""
    options = _parser().parse(arguments)
    words = text.tokenize(" ".join(options.sentence))
    if not words:
        raise console.UsageError(
            'the sentence is empty; give one, for example: strukt show MODEL "Dogs bark."'
        )

    from strukt.train import bundle

    model = bundle.load(options.model)
    (sentence,) = model.predict([conllu.from_forms(words)], probabilities=options.probabilities)
    diagram = diagram_of(sentence)
    if options.html:
        _write_page(diagram, options.html)
    else:
        draw(diagram)
    return 0


def draw(diagram: Diagram) -> None:
    """Prints a picture that fits the terminal, in colour if it shows colours."""
    palette = canvas.COLOURED if console.use_colour(sys.stdout) else canvas.PLAIN
    print(terminal.draw(diagram, shutil.get_terminal_size((100, 24)).columns, palette))


def _write_page(diagram: Diagram, path: str) -> None:
    from strukt.data.files import atomic_write

    with atomic_write(path) as stream:
        stream.write(html.page([diagram], " ".join(diagram.forms)))
    console.message(f"wrote {path}")


def _parser() -> Parser:
    parser = Parser("show", "Draws what a model makes of a sentence.")
    parser.add_argument("model", metavar="MODEL", help="folder of a saved model")
    parser.add_argument("sentence", metavar="SENTENCE", nargs="+", help="running text; it is cut into words")
    parser.add_argument(
        "--probabilities", action="store_true", help="write the marginal probabilities beside it"
    )
    parser.add_argument(
        "--html", metavar="FILE", help="write a page that needs nothing else, instead of drawing here"
    )
    return parser
