"""`strukt show`: draws what a model makes of a sentence."""

from __future__ import annotations

import io
import shutil
import sys

from strukt.cli import console
from strukt.cli.options import Parser
from strukt.data import text
from strukt.viz import canvas, html, terminal
from strukt.viz.terminal import AnyDiagram


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
    sentences = model.readers()["text"](io.StringIO(" ".join(words)))
    (diagram,) = model.diagrams(sentences, options.probabilities)
    if options.html:
        _write_page(diagram, options.html)
    else:
        draw(diagram)
    return 0


def draw(diagram: AnyDiagram) -> None:
    """Prints a picture that fits the terminal, in colour if it shows colours."""
    palette = canvas.COLOURED if console.use_colour(sys.stdout) else canvas.PLAIN
    print(terminal.draw(diagram, shutil.get_terminal_size((100, 24)).columns, palette))


def _write_page(diagram: AnyDiagram, path: str) -> None:
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
