"""Counters and timings of the service, in the text format of Prometheus."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import accumulate

from strukt.serve.messages import ModelCard

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of the buckets of the histogram of durations, in seconds."""

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    r"""Counters of requests by path and status, of their durations, and of requests in progress; not thread-safe.

    Attributes:
        in_flight: Number of requests in progress.

    Examples:
        >>> metrics = Metrics()
        >>> metrics.count("/predict", 200, 0.003)
        >>> [line for line in metrics.text([], 0).split("\n") if line.startswith("strukt_requests_total")]
        ['strukt_requests_total{path="/predict",status="200"} 1']
    """

    def __init__(self) -> None:
        self.in_flight = 0
        self._requests: Counter[tuple[str, int]] = Counter()
        self._buckets: defaultdict[str, list[int]] = defaultdict(lambda: [0] * (len(SECONDS) + 1))
        self._seconds: defaultdict[str, float] = defaultdict(float)

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """Count a request as in progress while the context lasts."""
        self.in_flight += 1
        try:
            yield
        finally:
            self.in_flight -= 1

    def count(self, path: str, status: int, seconds: float) -> None:
        """Count an answered request.

        Args:
            path: One of a fixed set of paths, not an arbitrary path from a client.
            status: Status of the response.
            seconds: Duration of the request in seconds.
        """
        self._requests[path, status] += 1
        self._buckets[path][bisect_left(SECONDS, seconds)] += 1
        self._seconds[path] += seconds

    def text(self, models: Iterable[ModelCard], late: int) -> str:
        """Return all metrics in the text format of Prometheus.

        Args:
            models: The served models.
            late: Number of threads that still compute abandoned requests.
        """
        return "".join(f"{line}\n" for line in self._lines(models, late))

    def _lines(self, models: Iterable[ModelCard], late: int) -> Iterator[str]:
        """Yield the lines of all metrics."""
        yield from _head("strukt_requests_total", "counter", "Requests that were answered.")
        for (path, status), count in sorted(self._requests.items()):
            yield f'strukt_requests_total{{path="{path}",status="{status}"}} {count}'
        yield from _head("strukt_request_seconds", "histogram", "Durations of requests.")
        for path, counts in sorted(self._buckets.items()):
            for bound, total in zip([*map(str, SECONDS), "+Inf"], accumulate(counts), strict=True):
                yield f'strukt_request_seconds_bucket{{path="{path}",le="{bound}"}} {total}'
            yield f'strukt_request_seconds_sum{{path="{path}"}} {self._seconds[path]}'
            yield f'strukt_request_seconds_count{{path="{path}"}} {sum(counts)}'
        yield from _head("strukt_requests_in_flight", "gauge", "Requests in progress.")
        yield f"strukt_requests_in_flight {self.in_flight}"
        yield from _head("strukt_late_threads", "gauge", "Threads that still compute abandoned requests.")
        yield f"strukt_late_threads {late}"
        yield from _head("strukt_model_info", "gauge", "The served models.")
        for card in models:
            yield f'strukt_model_info{{name="{_escaped(card.name)}",task="{card.task}"}} 1'


def _head(name: str, kind: str, help: str) -> tuple[str, str]:
    """Return the two lines that describe a metric."""
    return f"# HELP {name} {help}", f"# TYPE {name} {kind}"


def _escaped(label: str) -> str:
    return label.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
