"""`strukt evaluate`: evaluate a model on an annotated corpus."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import chain, islice
from typing import TYPE_CHECKING

from strukt.cli import corpora, outputs
from strukt.cli.console import UsageError
from strukt.cli.options import Parser, add_format
from strukt.cli.picture_output import PICTURE
from strukt.cli.table import detailed, percentages
from strukt.data import corpus
from strukt.data.batching import warn_about_long
from strukt.viz import Curves, svg
from strukt.viz.canvas.width import printable

if TYPE_CHECKING:
    from strukt.tasks.common.measurement import Measurement

CHECKED = 1000
"""Number of sentences at the beginning of the corpus whose labels are compared with those of the model; there is a
warning if the model knows none of them."""


def run(arguments: list[str]) -> int:
    """Print the scores as tables or as JSON, or draw them."""
    options = _parser().parse(arguments)
    corpora.require_files([options.file])
    if options.beside and options.file == "-":
        raise UsageError(
            "--beside reads the corpus once for each model; give a file instead of standard input"
        )
    if options.svg and options.json:
        raise UsageError("--svg and --json exclude each other; give one of them")
    models = [options.model, *options.beside]
    if options.svg:
        outputs.require_free(options.svg, [options.file], options.force, models, PICTURE)

    from strukt.tasks.common.unknown_labels import warn_of_unknown_labels
    from strukt.train import saved_model

    measured = {}
    for folder in models:
        model = saved_model.load(folder)
        sentences = iter(corpus.read_annotated(options.file, options.format, model.readers()))
        first = list(islice(sentences, CHECKED))
        warn_of_unknown_labels(model, first)
        measured[folder] = model.measure(warn_about_long(chain(first, sentences)))
    if options.svg:
        outputs.write(options.svg, svg.document(_by_length(measured)))
    elif options.json:
        scores = {folder: each.scores | each.details for folder, each in measured.items()}
        print(json.dumps(scores if options.beside else scores[options.model]))
    else:
        titles = {folder: f"{printable(folder)}\n\n" if options.beside else "" for folder in measured}
        print("\n\n".join(f"{titles[folder]}{report(each)}" for folder, each in measured.items()))
    return 0


def _by_length(measured: Mapping[str, Measurement]) -> Curves:
    """Return curves of the first score of each model over the lengths for which all models have scores."""
    tables = {folder: each.details.get("length") or {} for folder, each in measured.items()}
    places = [
        place for place in next(iter(tables.values())) if all(place in rows for rows in tables.values())
    ]
    if not places:
        raise UsageError("--svg draws scores by length; only models of the tasks sort and count have them")
    score = next(iter(next(iter(tables.values()))[places[0]]))
    curves = {folder: [rows[place][score] for place in places] for folder, rows in tables.items()}
    return Curves(f"{score} by length", places, curves)


def report(measured: Measurement) -> str:
    """Format the scores, followed by tables of scores, such as by label or by depth."""
    details = [detailed(name, rows) for name, rows in measured.details.items() if rows]
    return "\n\n".join([percentages(measured.scores), *details])


def _parser() -> Parser:
    parser = Parser(
        "evaluate", "Evaluate a model on an annotated corpus; scores are in per cent unless stated otherwise."
    )
    parser.add_argument("model", metavar="MODEL", help="folder of a saved model")
    parser.add_argument("file", metavar="FILE", help="annotated corpus; - is standard input")
    parser.add_argument(
        "--beside",
        metavar="MODEL",
        action="append",
        default=[],
        help="another model to evaluate on the same corpus; may be repeated",
    )
    parser.add_argument(
        "--svg", metavar="FILE", help="draw the scores of all models by length, instead of printing tables"
    )
    parser.add_argument("--json", action="store_true", help="print one line of JSON instead of tables")
    add_format(parser)
    outputs.add_force(parser)
    return parser
