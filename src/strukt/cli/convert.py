"""`strukt convert`: columns of words and tags, such as those of CoNLL-2003, as files that a model reads."""

from __future__ import annotations

from argparse import ArgumentTypeError

from strukt.cli import console, corpora, outputs
from strukt.cli.console import UsageError
from strukt.cli.options import Parser
from strukt.data.files import atomic_write
from strukt.data.tag_schemes import SCHEMES, Scheme, scheme_of, tag_columns


def run(arguments: list[str]) -> int:
    """Writes words and tags in the other scheme; the file is held in memory if its own has to be found."""
    options = _parser().parse(arguments)
    corpora.require_files([options.file])
    outputs.require_uncompressed(options.output)
    if options.output == "-":
        raise UsageError("-: the output is a file, not standard output; give its name")
    outputs.require_free(options.output, [options.file], options.force)
    sentences, source, target = tag_columns.read(options.file), options.source, options.to
    if source is None:
        every = list(sentences)
        sentences, source = iter(every), tag_columns.scheme_of_all(every)
    with atomic_write(options.output) as stream:
        for sentence in sentences:
            stream.write(str(sentence.converted(source, target)))
    console.message(f"{source.name} rewritten in {target.name}: {options.output}")
    return 0


def _parser() -> Parser:
    parser = Parser(
        "convert",
        "Writes words and tags of entities, a TAB between them, from columns that TABs or spaces separate, as in "
        "CoNLL-2003. The first column is the word, the last one the tag; lines -DOCSTART- are left out.",
    )
    schemes = ", ".join(SCHEMES)
    parser.add_argument("file", metavar="FILE", help="the columns; - is standard input")
    parser.add_argument("-o", "--output", metavar="OUT", required=True, help="write this file")
    parser.add_argument(
        "--from",
        dest="source",
        metavar="SCHEME",
        type=_scheme,
        help=f"of the tags, {schemes}; if not given, the one that fits all of them",
    )
    parser.add_argument(
        "--to", metavar="SCHEME", type=_scheme, default=SCHEMES["BIO"], help="in which tags are written (BIO)"
    )
    outputs.add_force(parser)
    return parser


def _scheme(name: str) -> Scheme:
    try:
        return scheme_of(name)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None
