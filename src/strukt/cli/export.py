"""`strukt export`: export a saved model to a folder with ONNX graphs in place of weights."""

from __future__ import annotations

from strukt.cli import console
from strukt.cli.options import Parser


def run(arguments: list[str]) -> int:
    """Write the folder of the exported model."""
    options = _parser().parse(arguments)

    from pathlib import Path

    from strukt.onnx.export import export
    from strukt.train import saved_model
    from strukt.train.records import read_environment, read_metrics

    model = saved_model.load(options.model)
    folder = Path(options.model)
    metrics = read_metrics(folder) if options.precision == "float32" else {}
    export(model, options.output, metrics, read_environment(folder), options.precision)
    console.message(f"exported to {options.output}; use it with: strukt predict {options.output} FILE")
    return 0


def _parser() -> Parser:
    parser = Parser(
        "export",
        "Export the networks of a model to ONNX; all commands accept the new folder in place of the old one.",
    )
    parser.add_argument("model", metavar="MODEL", help="folder of a saved model")
    parser.add_argument(
        "-o", "--output", metavar="FOLDER", required=True, help="folder of the exported model"
    )
    parser.add_argument(
        "--precision",
        choices=["float32", "int8"],
        default="float32",
        help="precision of the weights; int8 takes a third of the space and is faster on CPUs, but changes a few "
        "predictions: compare the scores with strukt evaluate (float32)",
    )
    parser.add_argument("--format", choices=["onnx"], default="onnx", help="format of the networks (onnx)")
    return parser
