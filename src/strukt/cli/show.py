"""`strukt show`: draw the prediction of a model for a sentence, or other pictures of the model."""

from __future__ import annotations

from argparse import Namespace

from strukt.cli import console, corpora, outputs
from strukt.cli.options import Parser, require_least
from strukt.cli.picture_output import PAGE, PICTURE, draw
from strukt.cli.pictures import OF_STEPS, SPANNING, chosen, pictures
from strukt.viz import html, svg


def run(arguments: list[str]) -> int:
    """Draw the requested pictures in the terminal, or write them to a file."""
    options = _parser().parse(arguments)
    kind = chosen(options)
    require_least(options, number=1)
    if options.spanning and kind not in ("tree", "graph"):
        raise console.UsageError("--spanning chooses the tree of --tree or --graph; give one of them")
    corpora.require_files(_corpora(options))
    _check_outputs(options)

    from strukt.train import saved_model

    drawn = pictures(saved_model.load(options.model), options)
    if options.html:
        title = " ".join([*options.sentence, *_corpora(options)]) or str(kind).capitalize()
        outputs.write(options.html, html.page(drawn, title))
    if options.svg:
        outputs.write(options.svg, svg.document(*drawn))
    if not options.html and not options.svg:
        for picture in drawn:
            draw(picture)
    return 0


def _corpora(options: Namespace) -> list[str]:
    """Return the corpora that the requested pictures are drawn from."""
    return [path for path in (options.ambiguous, options.against) if path is not None]


def _check_outputs(options: Namespace) -> None:
    """Check that the output files may be written and have suitable suffixes."""
    read = _corpora(options)
    for path, endings in ((options.html, PAGE), (options.svg, PICTURE)):
        if path:
            outputs.require_free(path, read, options.force, [options.model], endings)


def _parser() -> Parser:
    parser = Parser("show", "Draw the prediction of a model for a sentence, or another picture of the model.")
    parser.add_argument("model", metavar="MODEL", help="folder of a saved model")
    parser.add_argument(
        "sentence",
        metavar="SENTENCE",
        nargs="*",
        help="running text, which is split into words; two sentences for the task nli; by default, the first "
        "example of the model",
    )
    parser.add_argument("--probabilities", action="store_true", help="also draw the marginal probabilities")
    parser.add_argument(
        "--codes",
        action="store_true",
        help="draw the distances between the codes of labels (takes no sentence)",
    )
    parser.add_argument(
        "--states", action="store_true", help="draw the transitions between hidden states (takes no sentence)"
    )
    parser.add_argument(
        "--channels",
        action="store_true",
        help="draw the head of each word in each channel, for encoders of kind pt",
    )
    parser.add_argument(
        "--lattice",
        action="store_true",
        help="draw the marginals of tags and transitions, for taggers",
    )
    parser.add_argument(
        "--structures",
        action="store_true",
        help="draw the weighted structures of the sparse distribution, for models with sparsemap or latent trees",
    )
    parser.add_argument(
        "--against",
        metavar="FILE",
        help="with --structures: draw the structures of the first sentences of an annotated corpus, with the "
        "probabilities of the gold structures (takes no sentence)",
    )
    parser.add_argument(
        "--ambiguous",
        metavar="FILE",
        help="draw the structures of the most ambiguous sentences of a corpus: those whose heaviest structure has "
        "the least weight (takes no sentence)",
    )
    parser.add_argument(
        "--history",
        metavar="SCORE",
        help="draw this score on the development corpus over the course of training (takes no sentence)",
    )
    parser.add_argument(
        "-n", "--number", type=int, default=5, help="number of sentences to draw from a corpus (5)"
    )
    for name, help in OF_STEPS.items():
        about = f"{help}, at this step of the output, counted from 1"
        parser.add_argument(f"--{name}", metavar="STEP", type=int, help=about)
    parser.add_argument(
        "--spanning",
        choices=SPANNING,
        help="for --tree and --graph: the minimum spanning tree, as published, the maximum one, or that of the "
        "largest absolute interactions (minimum)",
    )
    parser.add_argument(
        "--html", metavar="FILE", help="write a self-contained page, instead of drawing in the terminal"
    )
    parser.add_argument("--svg", metavar="FILE", help="write a picture, instead of drawing in the terminal")
    outputs.add_force(parser)
    return parser
