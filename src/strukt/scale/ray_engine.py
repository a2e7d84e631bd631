"""Shards on the workers of Ray: on this machine, or on the cluster that RAY_ADDRESS names."""

from __future__ import annotations

import contextlib
import logging
import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from strukt.errors import MissingExtraError, SettingError
from strukt.scale.shards import Shard, unfinished
from strukt.scale.whole import beside, count_leftovers
from strukt.scale.worker import Job, Outcome, Worker

ATTEMPTS = 4
"""At a shard whose workers die. Ray itself tries for ever, also where a shard takes more memory than there is."""

STORE = 128 << 20
"""Bytes of memory that the processes on this machine share; the shards themselves do not go through it."""


@dataclass(frozen=True)
class Resources:
    """What the workers are given.

    Attributes:
        workers: How many there are; None for as many as there is room for.
        cpus: Of each; also its threads.
        gpus: Of each; a fraction where several share one.
    """

    workers: int | None = None
    cpus: float = 1
    gpus: float = 0


def outcomes(job: Job, shards: Sequence[Shard], resources: Resources) -> Iterator[Outcome]:
    """Does shards on workers, each with a model of its own.

    A shard is a unit: its part appears whole, so that a worker that dies loses what it was doing alone, which the
    worker that takes its place begins again.

    Args:
        job: What all workers share. They must see the model, the corpora and the folder of the parts.
        shards: The shards.
        resources: What the workers are given.

    Yields:
        What became of each shard, in the order in which they are finished.

    Raises:
        MissingExtraError: Ray is not installed.
        SettingError: The cluster has no room for a worker.
    """
    ray = _ray()
    with _cluster(ray, resources):
        workers = resources.workers or _room(ray.cluster_resources(), resources)
        left = {shard.part: shard for shard in shards}
        for row in _results(ray, job, shards, min(workers, len(shards)), resources).iter_rows():
            outcome = Outcome.from_json(row["outcome"])
            left.pop(outcome.part, None)
            yield outcome
    for shard in unfinished(Path(job.folder), list(left.values())):
        yield Outcome(shard.part, error="its worker did not answer; see the logs of Ray")


def _ray() -> Any:
    """The package, which does not report what is done with it."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    # It calls it an error that Ray Data keeps what workers are made of in its store, where it stays until the end.
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    try:
        import ray
        import ray.data
    except ModuleNotFoundError as error:
        raise MissingExtraError(str(error.name), "scale") from None
    return ray


def _results(ray: Any, job: Job, shards: Sequence[Shard], workers: int, resources: Resources) -> Any:
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.max_errored_blocks = -1  # the others go on
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)
    numbers = [{"number": number} for number in range(len(shards))]
    return ray.data.from_items(numbers, override_num_blocks=len(shards)).map_batches(
        RayWorker,
        fn_constructor_args=(job, list(shards), max(1, int(resources.cpus)), time.time()),
        batch_size=1,
        compute=ray.data.ActorPoolStrategy(size=workers),
        num_cpus=resources.cpus,
        num_gpus=resources.gpus or None,
    )


@contextlib.contextmanager
def _cluster(ray: Any, resources: Resources) -> Iterator[None]:
    """A cluster that exists, or one of this machine for as long as it is needed."""
    quiet = {"logging_level": logging.ERROR, "log_to_driver": False}
    if os.environ.get("RAY_ADDRESS"):
        ray.init(**quiet)
    else:
        asked = math.ceil((resources.workers or 0) * resources.cpus)
        cpus = max(os.cpu_count() or 1, asked)
        ray.init(address="local", num_cpus=cpus, object_store_memory=STORE, include_dashboard=False, **quiet)
    try:
        yield
    finally:
        ray.shutdown()


def _room(cluster: Mapping[str, float], resources: Resources) -> int:
    """How many workers a cluster has room for.

    Examples:
        >>> _room({"CPU": 16, "GPU": 2}, Resources(cpus=1, gpus=0.25))
        8
    """
    cpus, gpus = cluster.get("CPU", 0), cluster.get("GPU", 0)
    room = int(cpus / resources.cpus)
    if resources.gpus:
        room = min(room, int(gpus / resources.gpus))
    if not room:
        wanted = f"--cpus {resources.cpus:g} and --gpus {resources.gpus:g}"
        raise SettingError(f"no worker fits: each is to have {wanted}, and Ray has {cpus:g} and {gpus:g}")
    return room


class RayWorker:
    """A worker in a process of Ray's.

    Args:
        job: What all workers share.
        shards: All shards.
        threads: How many it may use.
        begun: When the run was begun, in seconds since 1970.
    """

    def __init__(self, job: Job, shards: list[Shard], threads: int, begun: float) -> None:
        import torch

        torch.set_num_threads(threads)
        self._job = job
        self._shards = shards
        self._begun = begun
        self._worker: Worker | None = None

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, list[str]]:
        """Does the shards of these numbers."""
        return {"outcome": [self._do(self._shards[int(number)]).to_json() for number in batch["number"]]}

    def _do(self, shard: Shard) -> Outcome:
        part = Path(self._job.folder, shard.part)
        if not unfinished(part.parent, [shard]):  # by a worker that died before it could say so
            return Outcome(shard.part)
        if (died := count_leftovers(part, self._begun)) >= ATTEMPTS:
            return Outcome(shard.part, error=f"{died} workers died of it; is there too little memory?")
        try:
            beside(part).touch()  # also where the worker dies while the model is loaded, that is counted
            if self._worker is None:
                from strukt.train import bundle

                self._worker = Worker(self._job, bundle.load(self._job.model))
            return self._worker.do(shard)
        except Exception as error:  # told with its shard, where Ray would tell it in a log somewhere
            return Outcome(shard.part, error=f"{type(error).__name__}: {error}")
        finally:
            beside(part).unlink(missing_ok=True)
