"""The output folder of a training run: used by one run at a time, and never overwritten silently."""

from __future__ import annotations

import contextlib
import fcntl
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from strukt.errors import StruktError
from strukt.tasks.common.options import flat
from strukt.train.model_folder import require_no_others
from strukt.train.storage import read_object, write_json

CHANGEABLE = ("max_minutes", "checkpoint_steps")
"""Options of the trainer that may differ in a resumed run, because they do not change the result."""

CONTENT = "content."
"""Prefix of the names, in the record of a run, of the digests of what it reads besides its training corpus."""


class RunFolder:
    """The output folder of a training run, locked for as long as the context lasts.

    The lock belongs to the process, so a killed run releases it. A new run that fails before its first checkpoint
    leaves no record, since there is nothing to resume.

    Args:
        path: The output folder; created if it does not exist.

    Attributes:
        path: The output folder, in which the model is saved at the end.
        training: Its subfolder `training`, for the lock, the record of the run, logs and checkpoints.
        checkpoints: The folder of the checkpoints.

    Raises:
        StruktError: If, as the context is entered, another run has locked the folder, or it cannot be written or
            locked.
        DataError: If the folder holds files that the model would replace, or its path is not UTF-8.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.training = path / "training"
        self.checkpoints = self.training / "checkpoints"
        self._lock: IO[str] | None = None
        self._is_new = False

    def __enter__(self) -> RunFolder:
        if not self.training.exists() and not (self.path / "format.json").exists():
            require_no_others(self.path)
        try:
            self.training.mkdir(parents=True, exist_ok=True)
            self._lock = open(self.training / "lock", "a")  # leaves an existing file as it is
        except OSError as error:
            raise StruktError(
                f"{self.path}: cannot be written ({error.strerror}); choose another folder"
            ) from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._lock.close()
            raise StruktError(f"{self.path}: another run is training here; choose another folder") from error
        except OSError as error:  # some network file systems have no locks
            self._lock.close()
            raise StruktError(
                f"{self.path}: cannot be locked ({error.strerror}); choose a folder on a local disk"
            ) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        has_result = self.checkpoints.exists() or (self.path / "format.json").exists()
        if error is not None and self._is_new and not has_result:
            with contextlib.suppress(OSError):  # which would hide the error
                self._record.unlink()  # there is nothing to resume
        if self._lock is not None:
            self._lock.close()

    @property
    def _record(self) -> Path:
        return self.training / "run.json"

    def require_begun(self) -> None:
        """Check that a run began in this folder, without creating the folder.

        Raises:
            StruktError: If the folder has no record of a run.
        """
        if not self._record.exists():
            raise StruktError(f"{self.path}: no training began here; omit --resume")

    def claim(self, run: dict[str, Any], resume: bool) -> None:
        """Check that the run may start or resume in this folder.

        Args:
            run: Task, options, number of processes, the digest of the training corpus as `sha256`, and those of
                what else the run reads as `content`, by its name.
            resume: Resume the run in the folder, instead of starting one.

        Raises:
            StruktError: If a run to resume is missing or finished, or had other options, corpora or files; or if a
                folder for a new run already holds a model or an unfinished run.
            DataError: If the record of the run to resume is damaged, or that of a new run cannot be written.
        """
        if not resume:
            if (self.path / "format.json").exists():
                raise StruktError(f"{self.path}: holds a model already; choose another folder or remove it")
            if self.checkpoints.exists():
                raise StruktError(
                    f"{self.path}: holds an unfinished training; add --resume, or remove the folder"
                )
            write_json(self._record, run)
            self._is_new = True
            return
        self.require_begun()
        if (self.path / "format.json").exists() and not self.checkpoints.exists():
            raise StruktError(f"{self.path}: its training is finished; there is nothing to resume")
        differing = _differences(flat(read_object(self._record)), flat(run))
        if differing:
            name, before, now = differing[0]
            content = "training corpus" if name == "sha256" else name.removeprefix(CONTENT)
            if content != name:
                raise StruktError(f"{self.path}: cannot resume: the {content} has changed; restore it")
            raise StruktError(
                f"{self.path}: cannot resume: {name} was {before!r} and is now {now!r}; give the same options"
            )


def _differences(before: dict[str, Any], now: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    """Return name, former and present value of each differing entry: the task first, digests last."""
    names = sorted(before.keys() | now.keys(), key=lambda name: (name.startswith(CONTENT), name != "task", name))
    return [
        (name.removeprefix("options."), before.get(name), now.get(name))
        for name in names
        if before.get(name) != now.get(name) and name.rpartition(".")[2] not in CHANGEABLE
    ]
