"""The folder of a training: one run at a time, nothing overwritten unasked."""

import contextlib
import errno
import fcntl
import os

import pytest

from strukt.errors import DataError, StruktError
from strukt.train.run_folder import RunFolder

RUN = {"task": "tag", "options": {"seed": 1, "trainer": {"max_minutes": 1.0, "epochs": 3}}, "sha256": "ab"}


def claim(path, run=RUN, resume=False, leave_checkpoint=False):
    with RunFolder(path) as folder:
        folder.claim(run, resume)
        if leave_checkpoint:
            folder.checkpoints.mkdir()


def test_two_runs_in_one_folder_are_refused(tmp_path):
    with RunFolder(tmp_path / "m"), pytest.raises(StruktError, match="m: another run is training here"):
        RunFolder(tmp_path / "m").__enter__()
    claim(tmp_path / "m")


def test_a_file_system_without_locks_is_named(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(StruktError, match=r"m: cannot be locked \(No locks available\); choose a folder on"):
        RunFolder(tmp_path / "m").__enter__()


def test_a_name_that_is_not_utf_8_is_refused(tmp_path):
    with pytest.raises(DataError, match="has a name that is not UTF-8, which a folder of a model needs"):
        claim(tmp_path / os.fsdecode(b"m\xff"))
    assert not list(tmp_path.iterdir())


def test_a_model_is_not_overwritten(tmp_path):
    (tmp_path / "format.json").touch()
    with pytest.raises(StruktError, match="holds a model already; choose another folder or remove it"):
        claim(tmp_path)


def test_an_unfinished_training_is_not_overwritten_but_resumed(tmp_path):
    claim(tmp_path, leave_checkpoint=True)
    with pytest.raises(StruktError, match="holds an unfinished training; add --resume"):
        claim(tmp_path)
    claim(tmp_path, resume=True)


def test_there_must_be_something_to_resume(tmp_path):
    with pytest.raises(StruktError, match="no training began here; omit --resume"):
        claim(tmp_path / "new", resume=True)
    with pytest.raises(StruktError, match="no training began here; omit --resume"):
        RunFolder(tmp_path / "other").require_begun()
    assert not (tmp_path / "other").exists()


def fail(path, after_a_checkpoint):
    with contextlib.suppress(DataError), RunFolder(path) as folder:
        folder.claim({"task": "tag"}, resume=False)
        if after_a_checkpoint:
            folder.checkpoints.mkdir()
        raise DataError("no sentence has a tag")


def test_a_run_that_fails_at_once_is_not_to_be_resumed(tmp_path):
    fail(tmp_path, after_a_checkpoint=False)
    with RunFolder(tmp_path) as folder, pytest.raises(StruktError, match="no training began here"):
        folder.claim({"task": "tag"}, resume=True)


def test_a_run_that_fails_after_a_checkpoint_can_be_resumed(tmp_path):
    fail(tmp_path, after_a_checkpoint=True)
    with RunFolder(tmp_path) as folder:
        folder.claim({"task": "tag"}, resume=True)


def test_a_finished_training_is_not_resumed(tmp_path):
    claim(tmp_path)
    (tmp_path / "format.json").touch()
    with pytest.raises(StruktError, match="its training is finished; there is nothing to resume"):
        claim(tmp_path, resume=True)


def test_other_options_are_another_run(tmp_path):
    claim(tmp_path, leave_checkpoint=True)
    changed = RUN | {"options": {"seed": 2, "trainer": RUN["options"]["trainer"]}}
    with pytest.raises(StruktError, match="cannot resume: seed was 1 and is now 2; give the same options"):
        claim(tmp_path, changed, resume=True)
    other_task = RUN | {"task": "ner", "options": {"scheme": "bio"}}
    with pytest.raises(StruktError, match="cannot resume: task was 'tag' and is now 'ner'; give the same"):
        claim(tmp_path, other_task, resume=True)
    with pytest.raises(StruktError, match="cannot resume: the training corpus has changed; restore it"):
        claim(tmp_path, RUN | {"sha256": "cd"}, resume=True)


def test_other_contents_are_another_run(tmp_path):
    begun = RUN | {"content": {"development corpus": "ab", "file of --clusters": "cd"}}
    claim(tmp_path, begun, leave_checkpoint=True)
    claim(tmp_path, begun, resume=True)
    for name in begun["content"]:
        changed = begun | {"content": begun["content"] | {name: "ef"}}
        with pytest.raises(StruktError, match=f"cannot resume: the {name} has changed; restore it"):
            claim(tmp_path, changed, resume=True)
    other = changed | {"options": {"clusters": "other", "trainer": RUN["options"]["trainer"]}}
    with pytest.raises(StruktError, match="cannot resume: clusters was None and is now 'other'"):
        claim(tmp_path, other, resume=True)


def test_a_resumed_run_may_have_more_time(tmp_path):
    claim(tmp_path, leave_checkpoint=True)
    longer = RUN | {"options": {"seed": 1, "trainer": {"max_minutes": 9.0, "epochs": 3}}}
    claim(tmp_path, longer, resume=True)


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StruktError, match="file/m: cannot be written"):
        RunFolder(tmp_path / "file" / "m").__enter__()


def test_a_damaged_record_of_the_run_is_named(tmp_path):
    claim(tmp_path, leave_checkpoint=True)
    (tmp_path / "training" / "run.json").write_text("[]")
    with pytest.raises(DataError, match=r"run\.json: is damaged \(no JSON object\); restore it from a copy"):
        claim(tmp_path, resume=True)
