"""`strukt convert`: convert the tags in columns of words and tags, as in CoNLL-2003, to another scheme."""

from __future__ import annotations

from argparse import ArgumentTypeError

from strukt.cli import console, corpora, outputs
from strukt.cli.options import Parser
from strukt.data.tag_schemes import SCHEMES, Scheme, scheme_of, tag_columns


def run(arguments: list[str]) -> int:
    """Write words and tags in the new scheme; without `--from`, read the whole file to detect its scheme."""
    options = _parser().parse(arguments)
    corpora.require_files([options.file])
    outputs.require_corpus(options.output, [options.file], options.force)
    sentences, source, target = tag_columns.read(options.file), options.source, options.to
    if source is None:
        loaded = list(sentences)
        sentences, source = iter(loaded), tag_columns.scheme_of_all(loaded)
    with outputs.opened(options.output) as stream:
        for sentence in sentences:
            stream.write(console.shown(str(sentence.converted(source, target)), stream))
    console.message(f"{source.name} converted to {target.name}: {outputs.name_of(options.output)}")
    return 0


def _parser() -> Parser:
    parser = Parser(
        "convert",
        "Convert the tags of entities to another scheme. The input has columns separated by tabs or spaces, as in "
        "CoNLL-2003; the first column is the word, the last the tag. The output has these two columns, separated "
        "by tabs. Lines with -DOCSTART- are omitted.",
    )
    schemes = ", ".join(SCHEMES)
    parser.add_argument("file", metavar="FILE", help="file with columns; - is standard input")
    outputs.add_required(parser, "OUT")
    parser.add_argument(
        "--from",
        dest="source",
        metavar="SCHEME",
        type=_scheme,
        help=f"scheme of the input: {schemes} (the scheme that fits all tags)",
    )
    parser.add_argument(
        "--to", metavar="SCHEME", type=_scheme, default=SCHEMES["BIO"], help="scheme of the output (BIO)"
    )
    outputs.add_force(parser)
    return parser


def _scheme(name: str) -> Scheme:
    try:
        return scheme_of(name)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None
