"""`strukt predict`: annotate corpora, in the format of the input, into a file or shard by shard into a folder."""

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
from strukt.cli.options import Parser, add_format, require_least
from strukt.scale import parquet

if TYPE_CHECKING:
    from strukt.scale.shards import Shard
    from strukt.scale.worker import Outcome

OF_FOLDERS = ("engine", "shard", "shard_size", "workers", "cpus", "gpus", "column")
"""Options that only apply to prediction into a folder."""

OF_RAY = ("workers", "cpus")
"""Options of prediction into a folder that only apply to Ray."""

SHARD_SIZE = 1_000_000
"""Default size of a shard in bytes."""

SECONDS = 10.0
"""Minimum number of seconds between progress messages."""

LISTED = 10
"""Maximum number of failed shards to list."""


def run(arguments: list[str]) -> int:
    """Write annotated sentences, in order, as soon as they are computed; into a folder, shard by shard."""
    options = _parser().parse(arguments)
    if options.infill is not None and options.probabilities:
        raise UsageError("--infill writes plain text, without --probabilities; give one of them")
    options.file = options.file or _piped()
    corpora.require_files(options.file)
    if _into_folder(options):
        _check(options)
        return _predict_shards(options)
    outputs.require_corpus(options.output, options.file, options.force, [options.model])

    from strukt.scale.annotation import Annotation
    from strukt.train import saved_model

    model = saved_model.load(options.model)
    sentences = corpora.read(options.file, options.format, model.readers())
    annotated = Annotation(options.probabilities, options.infill).texts(model, sentences)
    with outputs.opened(options.output) as stream:
        for text in annotated:
            stream.write(console.shown(text, stream))
            stream.flush()
    return 0


def _parser() -> Parser:
    parser = Parser("predict", "Annotate corpora; the output has the format of the input.")
    parser.add_argument("model", metavar="MODEL", help="folder of a saved model")
    parser.add_argument(
        "file",
        metavar="FILE",
        nargs="*",
        help="corpora, in order; - is standard input, also the default in a pipe",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        help="write to this file, atomically (- is standard output), or into this folder (which exists or ends "
        "in /), shard by shard; after an interruption, the same command resumes",
    )
    parser.add_argument(
        "--infill",
        metavar="MARK",
        nargs="?",
        const="_",
        help="replace each MARK (_) by the most probable word, with a language model, and write plain text",
    )
    parser.add_argument(
        "--probabilities", action="store_true", help="write the probability of each prediction"
    )
    add_format(parser)
    outputs.add_force(parser)
    shards = parser.add_argument_group("into a folder")
    shards.add_argument("--shard_size", metavar="BYTES", type=int, help=f"size of a shard ({SHARD_SIZE:,})")
    shards.add_argument(
        "--shard", metavar="I/N", help="annotate every N-th shard, starting with the I-th (I counts from 1)"
    )
    shards.add_argument(
        "--column", metavar="NAME", help="column of Parquet, or key of JSON lines, with the plain text (text)"
    )
    shards.add_argument("--engine", choices=["ray"], help="annotate the shards on workers of Ray")
    shards.add_argument(
        "--workers", type=int, help="Ray: number of workers, each with a copy of the model (as many as fit)"
    )
    shards.add_argument("--cpus", type=float, help="Ray: CPUs of each worker, which are also its threads (1)")
    shards.add_argument(
        "--gpus", type=float, help="compute on a GPU; Ray: GPUs of each worker, such as 0.25 (0)"
    )
    return parser


def _piped() -> list[str]:
    """Return `-` for standard input as the only file; raise a UsageError if standard input is a terminal."""
    if sys.stdin.isatty():
        raise UsageError("FILE is missing; give a file, or pipe a corpus in; see: strukt predict --help")
    return [corpora.STANDARD_INPUT]


def _into_folder(options: Namespace) -> bool:
    """Return True if the output is a folder: if it exists as one or ends in a slash, or the command needs one.

    The options `OF_FOLDERS` and inputs in Parquet need a folder; without an output for one, raise `UsageError`.
    """
    output = "" if options.output in (None, outputs.STANDARD_OUTPUT) else options.output
    if output.endswith(os.sep) or os.path.isdir(output):
        return True
    folder_options = [name for name in OF_FOLDERS if getattr(options, name) is not None]
    if folder_options and (not output or os.path.exists(output)):
        raise UsageError(f"--{folder_options[0]} needs an output folder; give one with -o FOLDER/")
    if tables := [path for path in options.file if parquet.is_parquet(path)]:
        if not output:
            raise UsageError(f"{tables[0]}: predictions for Parquet go into a folder; give one with -o FOLDER/")
        return True
    return bool(folder_options)


def _check(options: Namespace) -> None:
    """Check the options of prediction into a folder: their values, and that each has an effect."""
    outputs.require_other_folder(options.output or "", [options.model])
    if options.force:
        raise UsageError(
            "--force is for an output file; a folder is resumed, so remove its parts to start again"
        )
    if corpora.STANDARD_INPUT in options.file:
        raise UsageError("standard input cannot be split into shards; give files")
    if options.engine is None:
        for name in OF_RAY:
            if getattr(options, name) is not None:
                raise UsageError(f"--{name} is only used with --engine ray; omit it, or add --engine ray")
    require_least(options, shard_size=1, workers=1)
    for name in ("cpus", "gpus"):
        value = getattr(options, name)
        if value is not None and (not value > 0 or (value > 1 and value % 1)):
            raise UsageError(
                f"--{name} is {value:g}; expected a positive whole number, or a fraction between 0 and 1"
            )


def _share(text: str | None) -> tuple[int, int]:
    """Parse the two numbers I and N of `--shard I/N`; 1 and 1 without the option."""
    if text is None:
        return 1, 1
    match = re.fullmatch(r"(\d{1,9})/(\d{1,9})", text)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise UsageError(f"--shard is {text:.40}; expected I/N with I from 1 to N, such as 2/8")
    return int(match[1]), int(match[2])


def _predict_shards(options: Namespace) -> int:
    """Annotate the shards whose parts are missing in the folder; report failures, and return the exit code."""
    share = _share(options.shard)

    import torch

    from strukt.scale import manifest, ray_workers, shards
    from strukt.scale.annotation import Annotation
    from strukt.scale.temporary_parts import remove_leftovers
    from strukt.scale.worker import Job, Worker
    from strukt.train import saved_model

    if options.gpus and options.engine is None and not torch.cuda.is_available():
        raise UsageError("--gpus is given, but PyTorch finds no GPU; omit it")
    place = saved_model.local_folder(options.model)
    model = saved_model.load(place)
    readers = model.readers()
    annotation = Annotation(options.probabilities, options.infill)
    annotation.texts(model, ())  # if the model cannot fill in words, raise now, not for each shard
    folder, column = Path(options.output), options.column or "text"
    inputs = [shards.Input.of(path, options.format, readers, options.column) for path in options.file]
    size = options.shard_size or SHARD_SIZE
    cuts = manifest.places(folder, place, annotation, inputs, readers, column, size)
    all_shards = shards.shards(inputs, cuts, readers, plain=options.infill is not None)
    left = shards.unfinished(folder, shards.selected(all_shards, *share))
    device = "cuda" if options.gpus else "cpu"
    job = Job(os.path.abspath(place), os.path.abspath(folder), annotation, column, device)
    outcomes: Iterable[Outcome]
    if options.engine == "ray" and left:
        resources = ray_workers.Resources(options.workers, options.cpus or 1, options.gpus or 0)
        outcomes = ray_workers.outcomes(job, left, resources)
    else:
        outcomes = map(Worker(job, model).do, left)
    failed = _follow(outcomes, left)
    missing = shards.unfinished(folder, all_shards)
    if not missing:
        remove_leftovers(folder)
    console.message(f"{len(all_shards) - len(missing):,} of {len(all_shards):,} parts are in {folder}")
    return _report_failures(failed, len(left))


def _follow(outcomes: Iterable[Outcome], left: list[Shard]) -> list[Outcome]:
    """Consume the outcomes of shards, report progress and new warnings, and return the outcomes that failed."""
    start = reported = time.monotonic()
    failed: list[Outcome] = []
    warned: set[str] = set()
    sentences = 0
    for done, outcome in enumerate(outcomes, 1):
        sentences += outcome.sentences
        if outcome.error:
            failed.append(outcome)
        for text in outcome.warnings:
            if text not in warned:
                console.warning(text)
        warned.update(outcome.warnings)
        now = time.monotonic()
        if now - reported > SECONDS or done == len(left):
            reported = now
            speed = sentences / max(now - start, 1e-9)  # some clocks have a coarse resolution
            console.message(
                f"{done:,} of {len(left):,} shards, {sentences:,} sentences, {speed:,.0f} per second"
            )
    return failed


def _report_failures(failed: list[Outcome], count: int) -> int:
    """Report the failed shards among `count` shards; return the exit code: 0 if there are none, otherwise 2."""
    if not failed:
        return 0
    for outcome in failed[:LISTED]:
        console.error(f"{outcome.part}: {outcome.error}")
    more = f", of which {LISTED} are listed" if len(failed) > LISTED else ""
    console.message(
        f"{len(failed):,} of {count:,} shards failed{more}; run the same command to try them again, or choose "
        "another folder for a corrected corpus"
    )
    return 2
