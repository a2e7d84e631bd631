"""`strukt show`: draws what a model makes of a sentence."""

from __future__ import annotations

from argparse import Namespace

from strukt.cli import console, corpora, outputs
from strukt.cli.drawing import PAGE, PICTURE, draw, write
from strukt.cli.options import Parser
from strukt.cli.pictures import OF_STEPS, SPANNING, chosen, pictures
from strukt.viz import html, svg


def run(arguments: list[str]) -> int:
    """Draws a sentence in the terminal, or writes a page with it; or something of the model itself."""
    options = _parser().parse(arguments)
    kind = chosen(options)
    if options.number < 1:
        raise console.UsageError(f"--number is {options.number}; expected at least 1")
    if options.spanning and kind not in ("tree", "graph"):
        raise console.UsageError("--spanning chooses the tree of --tree or --graph; give one of them")
    corpora.require_files(_corpora(options))
    _check_outputs(options)

    from strukt.train import bundle

    found = pictures(bundle.load(options.model), options)
    if options.html:
        title = " ".join([*options.sentence, *_corpora(options)]) or str(kind).capitalize()
        write(options.html, html.page(found, title))
    if options.svg:
        write(options.svg, svg.document(*found))
    if not options.html and not options.svg:
        for picture in found:
            draw(picture)
    return 0


def _corpora(options: Namespace) -> list[str]:
    """The files that are read."""
    return [path for path in (options.ambiguous, options.against) if path is not None]


def _check_outputs(options: Namespace) -> None:
    """Refuses files that would take the place of something else, or that no program would open."""
    read = _corpora(options)
    for path, endings in ((options.html, PAGE), (options.svg, PICTURE)):
        if path:
            outputs.require_free(path, read, options.force, [options.model], endings)


def _parser() -> Parser:
    parser = Parser("show", "Draws what a model makes of a sentence.")
    parser.add_argument("model", metavar="MODEL", help="folder of a saved model")
    parser.add_argument(
        "sentence",
        metavar="SENTENCE",
        nargs="*",
        help="running text, which is cut into words; of the task nli two sentences; without one, the first that "
        "the model carries from its development corpus",
    )
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
    parser.add_argument(
        "--lattice",
        action="store_true",
        help="how probable each tag is at each word, and each step from tag to tag, of taggers",
    )
    parser.add_argument(
        "--structures",
        action="store_true",
        help="the few structures that prediction reads, with weights, of models with sparsemap or latent trees",
    )
    parser.add_argument(
        "--against",
        metavar="FILE",
        help="with --structures, instead of a sentence: those of sentences of a corpus, and how probable the "
        "structures are that it gives",
    )
    parser.add_argument(
        "--ambiguous",
        metavar="FILE",
        help="instead of a sentence, the structures of sentences of a corpus on which the model is undecided, "
        "those whose heaviest structure has the least weight",
    )
    parser.add_argument(
        "--history",
        metavar="SCORE",
        help="instead of a sentence, a score on the development corpus as training went on",
    )
    parser.add_argument("-n", "--number", type=int, default=5, help="how many sentences of a corpus (5)")
    for name, help in OF_STEPS.items():
        parser.add_argument(f"--{name}", metavar="STEP", type=int, help=f"{help}, at this step of the output")
    parser.add_argument(
        "--spanning",
        choices=SPANNING,
        help="which spanning tree: of the least interactions, as published, the largest, or those of the largest "
        "size (minimum)",
    )
    parser.add_argument(
        "--html", metavar="FILE", help="write a page that needs nothing else, instead of drawing here"
    )
    parser.add_argument("--svg", metavar="FILE", help="write a picture, instead of drawing here")
    outputs.add_force(parser)
    return parser
