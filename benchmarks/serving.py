"""The time in which `strukt serve` answers a sentence of 25 words over HTTP on one core, and its stages."""

from __future__ import annotations

import argparse
import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles

from benchmarks.page import machine
from benchmarks.prediction import seconds, single_stages, summarise
from benchmarks.report import duration, table

SENTENCE = (
    "The committee that met on Tuesday told the owners of the mill near the river to repair its roof before "
    "the first snow fell ."
)
"""A sentence of 25 words."""

REQUESTS = 500
HEADER = ["model", "view", "HTTP, median", "HTTP, 99th percentile", "encoder and scores", "best structure"]


@contextmanager
def serving(folder: str) -> Iterator[http.client.HTTPConnection]:
    """Start a service on one core; yield a connection to it when it is ready."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "strukt", "serve", folder, "--port", "0", "--threads", "1"]
    with _one_core():
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    with process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            if " at http://" not in line:
                sys.exit(line + process.stderr.read())
            connection = http.client.HTTPConnection(line.rpartition("//")[2].strip())
            while request(connection, "GET", "/ready") != 200:
                time.sleep(0.1)
            yield connection
            connection.close()
        finally:
            process.terminate()


@contextmanager
def _one_core() -> Iterator[None]:
    """Bind processes that are started within the context to one core, on systems that can (Linux)."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def request(connection: http.client.HTTPConnection, method: str, path: str, body: object = None) -> int:
    """Send a request, read the whole answer, and return its status."""
    connection.request(method, path, json.dumps(body) if body else None, {"Content-Type": "application/json"})
    response = connection.getresponse()
    response.read()
    return response.status


def latencies(connection: http.client.HTTPConnection, view: str, requests: int) -> list[float]:
    """Return the seconds of each of several requests, one after another.

    Raises:
        RuntimeError: If the service does not answer.
    """
    question = {"texts": [SENTENCE], "view": view}
    for _ in range(20):
        if request(connection, "POST", "/predict", question) != 200:
            raise RuntimeError(f"the service does not answer for the view {view}")
    return [seconds(lambda: request(connection, "POST", "/predict", question)) for _ in range(requests)]


def percentile_99(values: list[float]) -> float:
    """Return the 99th percentile."""
    return quantiles(values, n=100, method="inclusive")[-1]


def rows(folder: str, requests: int) -> Iterator[list[str]]:
    """Yield a row for each of two views of a model; the times of stages are measured in this process."""
    import torch

    from strukt.serve.sentences import sentence_of
    from strukt.train import saved_model

    torch.set_num_threads(1)
    model = saved_model.load(folder)
    sentence = sentence_of(model, SENTENCE, 25)
    stages = summarise([single_stages(model, sentence) for _ in range(requests)], median)
    with serving(folder) as connection:
        for view in ("mode", "marginals"):
            taken = latencies(connection, view, requests)
            shares = map(duration, (stages.encoder, stages.inference)) if view == "mode" else ("", "")
            yield [Path(folder).name, view, duration(median(taken)), duration(percentile_99(taken)), *shares]


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line, measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serving", description=__doc__)
    parser.add_argument("model", metavar="MODEL", nargs="+", help="folders of saved taggers or parsers")
    parser.add_argument("--requests", type=int, default=REQUESTS, help=f"requests for each view ({REQUESTS})")
    options = parser.parse_args(arguments)
    heading = machine(1)
    each = [row for folder in options.model for row in rows(folder, options.requests)]
    print(f"{heading}\n\n{table(HEADER, each)}")


if __name__ == "__main__":
    main()
