"""`strukt export`: export a saved model to a folder with ONNX graphs in place of weights."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from strukt.cli import console, corpora
from strukt.cli.options import Parser
from strukt.cli.table import table
from strukt.data import corpus
from strukt.viz.canvas.width import printable


def run(arguments: list[str]) -> int:
    """Write the folder of the exported model; with `--dev`, evaluate both models and print their scores."""
    options = _parser().parse(arguments)
    corpora.require_files([options.dev] if options.dev else [])

    from pathlib import Path

    from strukt.onnx.export import export
    from strukt.train import saved_model
    from strukt.train.records import read_environment, read_metrics, save_dev_scores

    folder = saved_model.local_folder(options.model)
    model = saved_model.load(folder)
    metrics = read_metrics(folder) if options.precision == "float32" else {}
    dev = list(corpus.read_annotated(options.dev, readers=model.readers())) if options.dev else []
    export(model, options.output, metrics, read_environment(folder), options.precision)
    place = shlex.quote(str(options.output))
    console.message(f"exported to {options.output}; use it with: strukt predict {place} FILE")
    if dev:
        exported = saved_model.load(options.output).evaluate(dev)
        save_dev_scores(Path(options.output), exported)
        print(_beside({options.model: model.evaluate(dev), options.output: exported}))
    return 0


def _beside(scores: Mapping[str, Mapping[str, float]]) -> str:
    """Format a table with a row for each score and a column for each model."""
    names = next(iter(scores.values()))
    rows = [[name, *(f"{each[name]:.2f}" for each in scores.values())] for name in names]
    return table([["", *map(printable, scores)], *rows])


def _parser() -> Parser:
    parser = Parser(
        "export",
        "Export the networks of a model to ONNX; all commands but card, push and export accept the new folder.",
    )
    parser.add_argument("model", metavar="MODEL", help="folder of a saved model")
    parser.add_argument(
        "-o", "--output", metavar="FOLDER", required=True, help="folder of the exported model"
    )
    parser.add_argument(
        "--precision",
        choices=["float32", "int8"],
        default="float32",
        help="precision of the weights; int8 takes a quarter of the space and is faster on CPUs, but changes a "
        "few predictions; --dev compares the scores (float32)",
    )
    parser.add_argument(
        "--dev",
        metavar="FILE",
        help="annotated corpus on which to evaluate both models; the scores are printed, and those of the "
        "exported model are saved with it",
    )
    parser.add_argument("--format", choices=["onnx"], default="onnx", help="format of the networks (onnx)")
    return parser
