"""`strukt push`: puts a saved model and its card on the hub of Hugging Face."""

from __future__ import annotations

from strukt.cli.options import Parser


def run(arguments: list[str]) -> int:
    """Pushes, and prints the address of what was pushed."""
    options = _parser().parse(arguments)

    from strukt.train.hub import pushed

    print(pushed(options.model, options.repository, options.private))
    return 0


def _parser() -> Parser:
    parser = Parser(
        "push",
        "Pushes a saved model to the hub of Hugging Face, with its README.md as the card; "
        "log in first with: hf auth login.",
    )
    parser.add_argument("model", metavar="MODEL", help="folder of a saved model")
    parser.add_argument("repository", metavar="USER/NAME", help="where it goes; made if it is not there")
    parser.add_argument("--private", action="store_true", help="let nobody else see a new repository")
    return parser
