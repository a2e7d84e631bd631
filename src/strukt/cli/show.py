"""`strukt show`: draws what a model makes of a sentence."""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from strukt.cli import console
from strukt.cli.options import Parser
from strukt.cli.table import table
from strukt.data import brackets, text
from strukt.data.sentence import Sentence
from strukt.viz import canvas, html, svg, terminal
from strukt.viz.curves import Curves
from strukt.viz.diagram import Diagram
from strukt.viz.graph import Graph
from strukt.viz.heat_map import HeatMap

if TYPE_CHECKING:
    from strukt.tasks.model import Model


def run(arguments: list[str]) -> int:
    """Draws a sentence in the terminal, or writes a page with it; the same for the codes or states of a model."""
    options = _parser().parse(arguments)
    words = text.tokenize(" ".join(options.sentence))
    of_model = [name for name in OF_MODELS if getattr(options, name)]
    of_step = [name for name in OF_STEPS if getattr(options, name) is not None]
    of_sentence = len(of_step) + options.channels
    if bool(words or of_sentence) + len(of_model) > 1 or of_sentence > 1:
        raise console.UsageError(
            "there is one kind of picture at a time: of a sentence, of its --channels, of a step of its output, "
            "of --codes, or of --states"
        )
    if not words and not of_model:
        raise console.UsageError(
            'the sentence is empty; give one, for example: strukt show MODEL "Dogs bark."'
        )

    from strukt.train import bundle

    model = bundle.load(options.model)
    if of_model:
        pictures = [OF_MODELS[of_model[0]](model)]
    elif of_step:
        pictures = [_step(model, words, of_step[0], getattr(options, of_step[0]))]
    elif options.channels:
        pictures = _channels(model, words)
    else:
        pictures = list(model.diagrams([_sentence(model, words)], options.probabilities))
    if options.svg and len(pictures) > 1:
        raise console.UsageError(
            f"--svg has room for one picture, not for {len(pictures)}; write --html alone"
        )
    if options.html:
        write(options.html, html.page(pictures, " ".join(words) or of_model[0].capitalize()))
    if options.svg:
        write(options.svg, svg.document(pictures[0]))
    if not options.html and not options.svg:
        for picture in pictures:
            draw(picture)
    return 0


def _sentence(model: Model, words: Sequence[str]) -> Sentence:
    reader, line = model.readers()["text"], " ".join(words)
    if reader is brackets.read_text and brackets.is_tree(line):
        raise console.UsageError(
            'SENTENCE is a tree; give its words alone, for example: strukt show MODEL "Dogs bark."'
        )
    (sentence,) = reader(io.StringIO(line))
    return sentence


def _step(model: Model, words: Sequence[str], name: str, step: int) -> svg.Picture:
    pictures = model.step_pictures(_sentence(model, words), step)
    if name not in pictures:
        raise console.UsageError(
            f"the model has no {name} to show; one of the tasks sort and count with mean-field attention has"
        )
    return pictures[name]


def _channels(model: Model, words: Sequence[str]) -> list[svg.Picture]:
    channels = model.channels(_sentence(model, words))
    if not channels:
        raise console.UsageError("the model has no channels; one that is trained with --encoder.kind pt has")
    return list(channels)


def _codes(model: Model) -> HeatMap:
    distances = model.code_distances()
    if distances is None:
        raise console.UsageError("the model has no codes; one that is trained with --criterion bits has")
    return distances


def _states(model: Model) -> Graph:
    graph = model.state_graph()
    if graph is None:
        raise console.UsageError(
            "the model has no hidden states; --model hmm or lowrank-hmm of the task lm has"
        )
    return graph


OF_MODELS: Mapping[str, Callable[[Model], svg.Picture]] = {"codes": _codes, "states": _states}
"""What is shown in place of a sentence, by the names of the options."""

OF_STEPS = {
    "interactions": "of a model with mean-field attention, how words speak for and against each other",
    "tree": "the spanning tree of their largest interactions",
    "sweeps": "the attention after each sweep of mean field",
}
"""What is shown of one step of the output, by the names of the options."""


def draw(picture: svg.Picture) -> None:
    """Prints a picture that fits the terminal, in colour if it shows colours; of tables and graphs the numbers."""
    if isinstance(picture, Graph):
        rows = [
            [picture.names[edge.source], picture.names[edge.target], f"{edge.weight:.2f}"]
            for edge in picture.edges()
        ]
        print(f"{picture.title}\n\n{table([['from', 'to', ''], *rows])}")
        return
    if isinstance(picture, HeatMap):
        rows = [[row, *numbers] for row, numbers in zip(picture.rows, picture.numbers(), strict=True)]
        print(f"{picture.title}\n\n{table([['', *picture.columns], *rows])}")
        return
    if isinstance(picture, Curves):
        rows = [[name, *(f"{value:.3g}" for value in values)] for name, values in picture.curves.items()]
        print(f"{picture.title}\n\n{table([['', *picture.places], *rows])}")
        return
    if isinstance(picture, Diagram) and picture.title:
        print(picture.title)
    palette = canvas.COLOURED if console.use_colour(sys.stdout) else canvas.PLAIN
    print(terminal.draw(picture, shutil.get_terminal_size((100, 24)).columns, palette))


def write(path: str, content: str) -> None:
    from strukt.data.files import atomic_write

    with atomic_write(path) as stream:
        stream.write(content)
    console.message(f"wrote {path}")


def _parser() -> Parser:
    parser = Parser("show", "Draws what a model makes of a sentence.")
    parser.add_argument("model", metavar="MODEL", help="folder of a saved model")
    parser.add_argument("sentence", metavar="SENTENCE", nargs="*", help="running text; it is cut into words")
    parser.add_argument(
        "--probabilities", action="store_true", help="write the marginal probabilities beside it"
    )
    parser.add_argument(
        "--codes", action="store_true", help="instead of a sentence, how far the codes of labels are apart"
    )
    parser.add_argument(
        "--states", action="store_true", help="instead of a sentence, which hidden states follow each other"
    )
    parser.add_argument(
        "--channels",
        action="store_true",
        help="the head of each word in each channel, of encoders of kind pt",
    )
    for name, help in OF_STEPS.items():
        parser.add_argument(f"--{name}", metavar="STEP", type=int, help=f"{help}, at this step of the output")
    parser.add_argument(
        "--html", metavar="FILE", help="write a page that needs nothing else, instead of drawing here"
    )
    parser.add_argument("--svg", metavar="FILE", help="write a picture, instead of drawing here")
    return parser
