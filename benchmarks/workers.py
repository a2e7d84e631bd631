"""The sentences per second of `strukt predict` by the number of workers, which are processes, or those of Ray."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.page import machine
from benchmarks.report import table

HEADER = [
    "engine",
    "workers",
    "seconds in all",
    "sentences/s while all work",
    "times one worker: in all",
    "at work",
]


def corpus(path: Path, source: str, sentences: int) -> None:
    """Write the sentences of a corpus as plain text, repeated up to the number ``sentences``."""
    from strukt.data import corpus as corpora

    lines = [" ".join(sentence.forms) for sentence in corpora.read(source)]
    with open(path, "w", encoding="utf-8") as stream:
        for number in range(sentences):
            print(lines[number % len(lines)], file=stream)


def commands(engine: str, model: str, text: Path, folder: Path, workers: int, size: int) -> list[list[str]]:
    """Return the commands that run this many workers: one command for Ray, else one for each worker."""
    command = [sys.executable, "-m", "strukt", "predict", model, str(text), "-o", f"{folder}/"]
    command += ["--shard_size", str(size)]
    if engine == "Ray":
        return [[*command, "--engine", "ray", "--workers", str(workers)]]
    return [[*command, "--shard", f"{number}/{workers}"] for number in range(1, workers + 1)]


def run(every: Sequence[Sequence[str]]) -> float:
    """Run commands side by side; return the seconds until all have ended."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "RAY_worker_niceness": "0"}
    start = time.perf_counter()
    started = [subprocess.Popen(command, env=environment, stderr=subprocess.PIPE) for command in every]
    said = [process.communicate()[1].decode() for process in started]
    for process, text in zip(started, said, strict=True):
        if process.returncode:
            sys.exit(text)
    return time.perf_counter() - start


def speed(folder: Path, text: Path, workers: int) -> float:
    """Return the sentences per second while all workers are at work, from the times at which shards were written.

    With w workers, the first w shards and the last w - 1 are not counted.
    """
    parts = sorted(folder.glob("part-*"), key=lambda part: part.stat().st_mtime)
    between = parts[workers : len(parts) - workers + 1]
    size = sum(part.stat().st_size for part in between) / sum(part.stat().st_size for part in parts)
    with open(text, encoding="utf-8") as stream:
        sentences = sum(1 for _ in stream)
    return size * sentences / (between[-1].stat().st_mtime - parts[workers - 1].stat().st_mtime)


def rows(options: argparse.Namespace, folder: Path) -> Iterator[list[str]]:
    """Yield a row for each engine and number of workers."""
    text = folder / "corpus.txt"
    corpus(text, options.corpus, options.sentences)
    size = max(1, text.stat().st_size // options.shards)
    for engine in options.engines:
        first: tuple[float, float] | None = None
        for workers in options.workers:
            output = folder / f"{engine}-{workers}"
            taken = run(commands(engine, options.model, text, output, workers, size))
            found = speed(output, text, workers)
            first = first or (taken, found)
            more = [f"{first[0] / taken:.2f}", f"{found / first[1]:.2f}"]
            yield [engine, str(workers), f"{taken:.1f}", f"{found:,.0f}", *more]


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line, measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.workers", description=__doc__)
    parser.add_argument("model", metavar="MODEL", help="folder of a saved model")
    parser.add_argument("corpus", metavar="CORPUS", help="corpus with the sentences to annotate")
    parser.add_argument("--sentences", type=int, default=50_000, help="number of sentences (50,000)")
    parser.add_argument("--shards", type=int, default=40, help="number of shards of the sentences (40)")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2], help="numbers of workers (1 2)")
    parser.add_argument("--engines", nargs="+", default=["processes", "Ray"], help="engines (processes Ray)")
    options = parser.parse_args(arguments)
    heading = machine(1)
    with tempfile.TemporaryDirectory() as folder:
        found = list(rows(options, Path(folder)))
    print(f"{heading}\n\n{table(HEADER, found)}")


if __name__ == "__main__":
    main()
