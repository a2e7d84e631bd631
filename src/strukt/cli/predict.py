"""`strukt predict`: annotates text, sentence by sentence, in the format in which it came."""

from __future__ import annotations

import os
import re
import sys
import time
from argparse import Namespace
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from strukt.cli import console, corpora, outputs
from strukt.cli.console import UsageError
from strukt.cli.options import Parser, add_format
from strukt.scale import parquet

if TYPE_CHECKING:
    from strukt.scale.shards import Shard
    from strukt.scale.worker import Outcome

OF_FOLDERS = ("engine", "shard", "shard_size", "workers", "cpus", "gpus", "column")
"""Options of prediction into a folder; of these Ray alone reads `OF_RAY`."""

OF_RAY = ("workers", "cpus")

SHARD_SIZE = 1_000_000
"""In bytes, if none is given."""

SECONDS = 10.0
"""Between messages of how far it is."""

LISTED = 10
"""Of shards that failed; the others are counted."""


def run(arguments: list[str]) -> int:
    """Writes the annotated sentences in order, each as soon as it is computed; into a folder shard by shard."""
    options = _parser().parse(arguments)
    options.file = options.file or _piped()
    corpora.require_files(options.file)
    if _into_folder(options):
        _check(options)
        return _predict_shards(options)
    outputs.require_corpus(options.output, options.file, options.force, options.model)

    from strukt.scale.annotation import Annotation
    from strukt.train import bundle

    model = bundle.load(options.model)
    sentences = corpora.read(options.file, options.format, model.readers())
    found = Annotation(options.probabilities, options.infill).texts(model, sentences)
    with outputs.opened(options.output) as stream:
        for written in found:
            stream.write(console.shown(written, stream))
            stream.flush()
    return 0


def _parser() -> Parser:
    parser = Parser("predict", "Annotates corpora; the format of the output is that of the input.")
    parser.add_argument("model", metavar="MODEL", help="folder of a saved model")
    parser.add_argument(
        "file", metavar="FILE", nargs="*", help="corpora in turn; - or nothing, in a pipe, is standard input"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        help="write this file, whole or not at all; or into this folder (that is there or ends in /), shard by "
        "shard, so that the same command goes on where another one ended",
    )
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
    outputs.add_force(parser)
    shards = parser.add_argument_group("into a folder")
    shards.add_argument("--shard_size", metavar="BYTES", type=int, help=f"of a shard ({SHARD_SIZE:,})")
    shards.add_argument(
        "--shard", metavar="I/N", help="do every N-th shard from the I-th on; I counts from 1"
    )
    shards.add_argument(
        "--column", metavar="NAME", help="of Parquet and JSON lines, where the plain text is (text)"
    )
    shards.add_argument("--engine", choices=["ray"], help="do the shards on workers of Ray")
    shards.add_argument(
        "--workers", type=int, help="of Ray: how many, each with a model (all it has room for)"
    )
    shards.add_argument("--cpus", type=float, help="of Ray: of each worker, also its threads (1)")
    shards.add_argument(
        "--gpus", type=float, help="compute on a GPU; of Ray: of each worker, such as 0.25 (0)"
    )
    return parser


def _piped() -> list[str]:
    """Standard input, if something other than a person at a terminal feeds it."""
    if sys.stdin.isatty():
        raise UsageError("give FILE, or send a corpus through a pipe; see: strukt predict --help")
    return [corpora.STANDARD_INPUT]


def _into_folder(options: Namespace) -> bool:
    """Whether the output is a folder, by its name or because it is one."""
    output = options.output or ""
    if output.endswith(os.sep) or os.path.isdir(output):
        return True
    given = [name for name in OF_FOLDERS if getattr(options, name) is not None]
    if given and (not output or os.path.exists(output)):
        raise UsageError(f"--{given[0]} is for prediction into a folder; give one with -o FOLDER/")
    if found := [path for path in options.file if parquet.is_parquet(path)]:
        if not output:
            raise UsageError(f"{found[0]}: Parquet is annotated into a folder; give one with -o FOLDER/")
        return True
    return bool(given)


def _check(options: Namespace) -> None:
    """Refuses values that cannot be, and options that would not be read."""
    outputs.require_other_folder(options.output or "", [options.model])
    if options.force:
        raise UsageError(
            "--force is for an output file; a folder is gone on with, so remove its parts to begin again"
        )
    if corpora.STANDARD_INPUT in options.file:
        raise UsageError("standard input cannot be cut into shards; give files")
    if options.engine is None:
        for name in OF_RAY:
            if getattr(options, name) is not None:
                raise UsageError(f"--{name} is read with --engine ray alone; leave it out, or give that too")
    for name, least in (("shard_size", 1), ("workers", 1)):
        if (value := getattr(options, name)) is not None and value < least:
            raise UsageError(f"--{name} is {value}; expected {least} or more")
    for name in ("cpus", "gpus"):
        value = getattr(options, name)
        if value is not None and (not value > 0 or (value > 1 and value % 1)):
            raise UsageError(f"--{name} is {value:g}; expected a fraction of 1, or a whole number from 1 on")


def _share(text: str | None) -> tuple[int, int]:
    """The two numbers of `--shard`."""
    if text is None:
        return 1, 1
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise UsageError(f"--shard is {text}; expected I/N with I from 1 to N, such as 2/8")
    return int(found[1]), int(found[2])


def _predict_shards(options: Namespace) -> int:
    """Does the shards whose parts are not in the folder, and tells what became of them."""
    share = _share(options.shard)

    import torch

    from strukt.scale import manifest, ray_engine, shards
    from strukt.scale.annotation import Annotation
    from strukt.scale.whole import remove_leftovers
    from strukt.scale.worker import Job, Worker
    from strukt.train import bundle

    if options.gpus and options.engine is None and not torch.cuda.is_available():
        raise UsageError("--gpus is given, and PyTorch finds no GPU; leave it out")
    model = bundle.load(options.model)
    readers = model.readers()
    annotation = Annotation(options.probabilities, options.infill)
    annotation.texts(model, ())  # a model that fills in no words says so now, and not for each shard
    folder, column = Path(options.output), options.column or "text"
    inputs = [shards.Input.of(path, options.format, readers, options.column) for path in options.file]
    size = options.shard_size or SHARD_SIZE
    cuts = manifest.places(folder, Path(options.model), annotation, inputs, readers, column, size)
    all_shards = shards.shards(inputs, cuts, readers, plain=options.infill is not None)
    left = shards.unfinished(folder, shards.selected(all_shards, *share))
    device = "cuda" if options.gpus else "cpu"
    job = Job(os.path.abspath(options.model), os.path.abspath(folder), annotation, column, device)
    found: Iterable[Outcome]
    if options.engine == "ray" and left:
        resources = ray_engine.Resources(options.workers, options.cpus or 1, options.gpus or 0)
        found = ray_engine.outcomes(job, left, resources)
    else:
        found = map(Worker(job, model).do, left)
    failed = _follow(found, left)
    missing = shards.unfinished(folder, all_shards)
    if not missing:
        remove_leftovers(folder, "part-*")
    console.message(f"{len(all_shards) - len(missing):,} of {len(all_shards):,} parts are in {folder}")
    return _tell_failures(failed, len(left))


def _follow(found: Iterable[Outcome], left: list[Shard]) -> list[Outcome]:
    """Says from time to time how far it is; gives what failed."""
    start = said = time.monotonic()
    failed: list[Outcome] = []
    warned: set[str] = set()
    sentences = 0
    for done, outcome in enumerate(found, 1):
        sentences += outcome.sentences
        if outcome.error:
            failed.append(outcome)
        for text in outcome.warnings:
            if text not in warned:
                console.warning(text)
        warned.update(outcome.warnings)
        now = time.monotonic()
        if now - said > SECONDS or done == len(left):
            said = now
            speed = sentences / (now - start)
            console.message(
                f"{done:,} of {len(left):,} shards, {sentences:,} sentences, {speed:,.0f} a second"
            )
    return failed


def _tell_failures(failed: list[Outcome], count: int) -> int:
    if not failed:
        return 0
    for outcome in failed[:LISTED]:
        console.error(f"{outcome.part}: {outcome.error}")
    more = f", of which {LISTED} are listed" if len(failed) > LISTED else ""
    console.message(
        f"{len(failed):,} of {count:,} shards failed{more}; the same command tries them again, and a "
        "corpus that is mended needs another folder"
    )
    return 2
