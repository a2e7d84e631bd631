"""`strukt predict`: annotates text, sentence by sentence, in the format in which it came."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from strukt.cli import corpora
from strukt.cli.console import UsageError
from strukt.cli.options import Parser, add_format


def run(arguments: list[str]) -> int:
    """Writes the annotated sentences in order, each as soon as it is computed."""
    options = _parser().parse(arguments)
    corpora.require_files(options.file)

    from strukt.train import bundle

    model = bundle.load(options.model)
    sentences = corpora.read(options.file, options.format, model.readers())
    if options.infill is None:
        found: Iterator[str] = map(str, model.predict(sentences, probabilities=options.probabilities))
    else:
        found = (" ".join(words) + "\n" for words in model.infill(sentences, options.infill))
    with _output(options.output) as stream:
        for written in found:
            stream.write(written)
            stream.flush()
    return 0


def _parser() -> Parser:
    parser = Parser("predict", "Annotates corpora; the format of the output is that of the input.")
    parser.add_argument("model", metavar="MODEL", help="folder of a saved model")
    parser.add_argument("file", metavar="FILE", nargs="+", help="corpora in turn; - is standard input")
    parser.add_argument("-o", "--output", metavar="OUT", help="write this file, whole or not at all")
    parser.add_argument(
        "--infill",
        metavar="MARK",
        nargs="?",
        const="_",
        help="fill in the words for which MARK stands (_ if not given) with a language model, "
        "and write plain text",
    )
    parser.add_argument("--probabilities", action="store_true", help="note how probable each prediction is")
    add_format(parser)
    return parser


@contextmanager
def _output(path: str | None) -> Iterator[TextIO]:
    if path is None:
        sys.stdout.reconfigure(encoding="utf-8", newline="")  # type: ignore[union-attr]
        yield sys.stdout
        return
    from strukt.data.files import atomic_write

    if path.endswith(".gz"):
        raise UsageError(f"{path}: the output is not compressed; leave off .gz")
    with atomic_write(path) as stream:
        yield stream
