"""Annotation of shards, in this process or in one of many worker processes."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from strukt.data.files.problems import DataWarning
from strukt.errors import DataError
from strukt.scale import json_rows, parquet
from strukt.scale.annotation import Annotation
from strukt.scale.cuts import Piece, lines_before
from strukt.scale.shards import JSON_ROWS, PARQUET, Shard
from strukt.scale.temporary_parts import atomic_path

if TYPE_CHECKING:
    from strukt.tasks.common.model import Model


@dataclass(frozen=True)
class Job:
    """The settings that all workers of a run share; they can be sent to other processes.

    Attributes:
        model: The absolute path of the model's folder.
        folder: The absolute path of the folder for the parts.
        annotation: Options of the annotation.
        column: The column of the text in Parquet and JSON lines.
        device: The device to compute on, such as ``cpu`` or ``cuda``.
    """

    model: str
    folder: str
    annotation: Annotation
    column: str
    device: str


@dataclass(frozen=True)
class Outcome:
    """The outcome of a shard.

    Attributes:
        part: The name of the shard's part.
        sentences: Number of sentences that were annotated; 0 if the part was not written, or if another worker had
            written it before.
        error: The reason why the part was not written; empty if it was.
        warnings: The texts of warnings during the annotation.
    """

    part: str
    sentences: int = 0
    error: str = ""
    warnings: tuple[str, ...] = ()

    def to_json(self) -> str:
        """Return the outcome as one line of JSON."""
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(line: str) -> Outcome:
        """Parse an outcome that `to_json` returned.

        Examples:
            >>> Outcome.from_json(Outcome("part-00000.txt", 7).to_json()).sentences
            7
        """
        values = json.loads(line)
        return Outcome(**values | {"warnings": tuple(values["warnings"])})


class Worker:
    """A worker that annotates shards with one loaded model.

    Args:
        job: The settings that all workers share.
        model: The loaded model, which is moved to the device of the job.
    """

    def __init__(self, job: Job, model: Model) -> None:
        self._job = job
        self._model = model.to(job.device)
        self._readers = model.readers()

    def do(self, shard: Shard) -> Outcome:
        """Annotate a shard, and write its part atomically and in constant memory.

        Args:
            shard: The shard to annotate.

        Returns:
            The outcome. A `DataError` is not raised, but reported in it. Warnings about repaired data are included
            only for the first shard of a corpus.

        Raises:
            SettingError: If words are to be filled in, and the model cannot do it.
            MissingExtraError: If the corpus is a Parquet file, and pyarrow is not installed.
        """
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            try:
                with atomic_path(Path(self._job.folder, shard.part)) as path:
                    outcome = Outcome(shard.part, self._write(shard, path))
            except DataError as error:
                outcome = Outcome(shard.part, error=str(_in_the_corpus(error, shard)))
        messages = [str(warning.message) for warning in caught if _is_reported(warning, shard)]
        return Outcome(outcome.part, outcome.sentences, outcome.error, tuple(messages))

    def _write(self, shard: Shard, path: Path) -> int:
        """Write the part of a shard to a path; return the number of sentences."""
        if shard.format == PARQUET:
            span = (shard.start, shard.stop)
            return parquet.annotate(shard.path, self._job.column, *span, path, self._annotated_text)
        count = 0
        with (
            cast(IO[bytes], Piece(shard.path, shard.source, shard.start, shard.stop)) as source,
            open(path, "w", encoding="utf-8", newline="") as target,
        ):
            if shard.format == JSON_ROWS:
                return json_rows.annotate(source, self._job.column, target, self._annotated_text)
            for text in self._texts(source, shard.format):
                target.write(text)
                count += 1
        return count

    def _annotated_text(self, source: IO[bytes], begins: Iterable[bool]) -> Iterator[str]:
        """Yield the annotations of plain text; see `strukt.scale.rows.Annotate`."""
        return self._job.annotation.texts(self._model, self._readers["text"](source), begins)

    def _texts(self, source: IO[bytes], format: str) -> Iterator[str]:
        """Yield the annotations of a stream in one of the formats of the model."""
        return self._job.annotation.texts(self._model, self._readers[format](source))


def _in_the_corpus(error: DataError, shard: Shard) -> DataError:
    """Return an error with the path as the user gave it, and with the line in the corpus, not in the shard."""
    if shard.format == PARQUET and error.path == shard.path:
        return DataError(error.message, shard.name, error.line)
    if error.path != shard.source:
        return error
    before = lines_before(shard.path, shard.start) if error.line is not None else 0
    return DataError(error.message, shard.name, None if error.line is None else error.line + before)


def _is_reported(warning: warnings.WarningMessage, shard: Shard) -> bool:
    """Return False for warnings about repaired data in all shards of a corpus but the first."""
    return shard.start == 0 or not issubclass(warning.category, DataWarning)
