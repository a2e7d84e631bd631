"""`strukt evaluate`: the field's metrics of a model on an annotated corpus."""

from __future__ import annotations

import json

from strukt.cli import corpora
from strukt.cli.options import Parser, add_format
from strukt.cli.table import percentages
from strukt.data import corpus


def run(arguments: list[str]) -> int:
    """Prints the metrics as a table, or as JSON."""
    options = _parser().parse(arguments)
    corpora.require_files([options.file])
    format = options.format or corpora.default_format(options.file)
    sentences = corpus.read_annotated(options.file, format)

    from strukt.train import bundle

    results = bundle.load(options.model).evaluate(sentences)
    print(json.dumps(results) if options.json else percentages(results))
    return 0


def _parser() -> Parser:
    parser = Parser("evaluate", "Measures a model on an annotated corpus; all numbers are in percent.")
    parser.add_argument("model", metavar="MODEL", help="folder of a saved model")
    parser.add_argument("file", metavar="FILE", help="an annotated corpus; - is standard input")
    parser.add_argument("--json", action="store_true", help="print one line of JSON instead of a table")
    add_format(parser)
    return parser
