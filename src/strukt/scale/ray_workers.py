"""Annotation of shards on workers of Ray, on this machine or on the cluster that RAY_ADDRESS names."""

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
from strukt.scale.temporary_parts import beside, count_leftovers
from strukt.scale.worker import Job, Outcome, Worker

ATTEMPTS = 4
"""Maximum number of attempts at a shard whose workers die; Ray itself retries forever, even when out of memory."""

STORE = 128 << 20
"""Size of Ray's object store in bytes; it may be small, because shards do not pass through it."""


@dataclass(frozen=True)
class Resources:
    """Resources of the workers.

    Attributes:
        workers: Number of workers; if None, as many as fit into the cluster.
        cpus: Number of CPUs of each worker. A worker has as many threads, rounded down, but at least one.
        gpus: Number of GPUs of each worker; a fraction if several workers share a GPU, 0 to compute on CPUs.
    """

    workers: int | None = None
    cpus: float = 1
    gpus: float = 0


def outcomes(job: Job, shards: Sequence[Shard], resources: Resources) -> Iterator[Outcome]:
    """Annotate shards on workers of Ray, each of which loads the model.

    Workers run on the cluster that the environment variable RAY_ADDRESS names; without it, on this machine. The
    part of a shard is written atomically. If a worker dies, only its current shard is lost. Other workers repeat
    this shard, with at most `ATTEMPTS` attempts in all.

    Args:
        job: The settings that all workers share. They need access to the model, the corpora and the folder of the
            parts.
        shards: One or more shards to annotate.
        resources: Resources of the workers.

    Yields:
        The outcome of each shard, in the order in which the shards are finished. At the end come those of shards
        without an answer whose parts are missing. Exceptions in a worker are reported in the outcome of its shard.

    Raises:
        MissingExtraError: If Ray is not installed.
        SettingError: If the number of workers is None, and no worker fits into the cluster.
        DataError: If the folder of the parts cannot be read at the end.
    """
    ray = _ray()
    with _cluster(ray, resources):
        workers = resources.workers or _capacity(ray.cluster_resources(), resources)
        left = {shard.part: shard for shard in shards}
        for row in _results(ray, job, shards, min(workers, len(shards)), resources).iter_rows():
            outcome = Outcome.from_json(row["outcome"])
            left.pop(outcome.part, None)
            yield outcome
    for shard in unfinished(Path(job.folder), list(left.values())):
        yield Outcome(shard.part, error="its worker did not answer; see the logs of Ray")


def _ray() -> Any:
    """Import Ray without usage reports."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    # Ray Data keeps the arguments of workers in its store until the end, which Ray would log as an error.
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    try:
        import ray
        import ray.data
    except ModuleNotFoundError as error:
        raise MissingExtraError(str(error.name), "scale") from None
    return ray


def _results(ray: Any, job: Job, shards: Sequence[Shard], workers: int, resources: Resources) -> Any:
    """Return a lazy dataset of Ray with the outcomes of the shards, as JSON in the column ``outcome``."""
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.max_errored_blocks = -1  # after an error, the other shards continue
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
    """Connect to the cluster that RAY_ADDRESS names, or start one on this machine, while the context lasts."""
    quiet = {"logging_level": logging.ERROR, "log_to_driver": False}
    if os.environ.get("RAY_ADDRESS"):
        ray.init(**quiet)
    else:
        requested = math.ceil((resources.workers or 0) * resources.cpus)
        cpus = max(os.cpu_count() or 1, requested)
        ray.init(address="local", num_cpus=cpus, object_store_memory=STORE, include_dashboard=False, **quiet)
    try:
        yield
    finally:
        ray.shutdown()


def _capacity(cluster: Mapping[str, float], resources: Resources) -> int:
    """Return the number of workers that fit into a cluster, by its CPUs and GPUs.

    Raises:
        SettingError: If none fits.

    Examples:
        >>> _capacity({"CPU": 16, "GPU": 2}, Resources(cpus=1, gpus=0.25))
        8
    """
    cpus, gpus = cluster.get("CPU", 0), cluster.get("GPU", 0)
    capacity = int(cpus / resources.cpus)
    if resources.gpus:
        capacity = min(capacity, int(gpus / resources.gpus))
    if not capacity:
        requested = f"--cpus {resources.cpus:g} and --gpus {resources.gpus:g}"
        raise SettingError(f"no worker fits: each requests {requested}, but Ray has {cpus:g} and {gpus:g}")
    return capacity


class RayWorker:
    """A worker in a process of Ray.

    Args:
        job: The settings that all workers share.
        shards: All shards, which batches refer to by index.
        threads: Number of threads of PyTorch.
        begun: Start of the run, in seconds since 1970.
    """

    def __init__(self, job: Job, shards: list[Shard], threads: int, begun: float) -> None:
        import torch

        torch.set_num_threads(threads)
        self._job = job
        self._shards = shards
        self._begun = begun
        self._worker: Worker | None = None

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, list[str]]:
        """Annotate the shards with the indices in ``batch["number"]``; return their outcomes as JSON.

        Exceptions are reported in the outcomes. The model is loaded for the first shard.
        """
        return {"outcome": [self._do(self._shards[int(number)]).to_json() for number in batch["number"]]}

    def _do(self, shard: Shard) -> Outcome:
        """Annotate a shard, unless its part exists or too many workers died of it; return the outcome.

        A temporary file marks the attempt. It remains if the worker dies, so that deaths can be counted.
        """
        part = Path(self._job.folder, shard.part)
        if not unfinished(part.parent, [shard]):  # another worker finished it, and died before it could report
            return Outcome(shard.part)
        if (died := count_leftovers(part, self._begun)) >= ATTEMPTS:
            return Outcome(shard.part, error=f"{died} workers died of it; give each worker more memory")
        try:
            beside(part).touch()  # counts a death while the model is loaded, too
            if self._worker is None:
                from strukt.train import saved_model

                self._worker = Worker(self._job, saved_model.load(self._job.model))
            return self._worker.do(shard)
        except Exception as error:  # Ray would only log it; report it as the outcome
            return Outcome(shard.part, error=f"{type(error).__name__}: {error}")
        finally:
            beside(part).unlink(missing_ok=True)
