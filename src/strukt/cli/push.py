"""`strukt push`: push a saved model and its card to the Hugging Face Hub."""

from __future__ import annotations

from strukt.cli.options import Parser


def run(arguments: list[str]) -> int:
    """Push the model, and print the address of the commit."""
    options = _parser().parse(arguments)

    from strukt.train.hub import push

    print(push(options.model, options.repository, options.private))
    return 0


def _parser() -> Parser:
    parser = Parser(
        "push",
        "Push a saved model to the Hugging Face Hub, with its README.md as the card. "
        "Log in first with: hf auth login.",
    )
    parser.add_argument("model", metavar="MODEL", help="folder of a saved model")
    parser.add_argument("repository", metavar="USER/NAME", help="repository; created if it does not exist")
    parser.add_argument("--private", action="store_true", help="make a new repository private")
    return parser
