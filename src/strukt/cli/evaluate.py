"""`strukt evaluate`: the field's metrics of a model on an annotated corpus."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from strukt.cli import corpora
from strukt.cli.options import Parser, add_format
from strukt.cli.table import detailed, percentages
from strukt.data import corpus

if TYPE_CHECKING:
    from strukt.tasks.model import Measurement


def run(arguments: list[str]) -> int:
    """Prints the metrics as a table, or as JSON."""
    options = _parser().parse(arguments)
    corpora.require_files([options.file])

    from strukt.train import bundle

    model = bundle.load(options.model)
    measured = model.measure(corpus.read_annotated(options.file, options.format, model.readers()))
    print(json.dumps(measured.scores | measured.details) if options.json else report(measured))
    return 0


def report(measured: Measurement) -> str:
    """All scores, then the tables of scores by label, by depth ..."""
    details = [detailed(name, rows) for name, rows in measured.details.items() if rows]
    return "\n\n".join([percentages(measured.scores), *details])


def _parser() -> Parser:
    parser = Parser(
        "evaluate", "Measures a model on an annotated corpus; percents where the name says nothing else."
    )
    parser.add_argument("model", metavar="MODEL", help="folder of a saved model")
    parser.add_argument("file", metavar="FILE", help="an annotated corpus; - is standard input")
    parser.add_argument("--json", action="store_true", help="print one line of JSON instead of a table")
    add_format(parser)
    return parser
