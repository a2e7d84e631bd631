"""Ray: two workers give what one process gives, also where one of them is killed; its worker without Ray."""

import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.scale.commands import parts, predict, text, together, whole

from strukt.errors import SettingError
from strukt.scale.annotation import Annotation
from strukt.scale.ray_workers import ATTEMPTS, RayWorker, Resources, _capacity
from strukt.scale.shards import Shard
from strukt.scale.temporary_parts import beside
from strukt.scale.worker import Job, Outcome

TIMEOUT = 300

needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None,
    reason="Ray is not installed (it is not in the extra dev, for its size); get it with the extra scale",
)


@pytest.fixture
def corpus(tmp_path, words):
    return text(tmp_path / "corpus.txt", words)


def worker(model, corpus, begun=0.0) -> tuple[RayWorker, Shard]:
    folder = corpus.parent / "out"
    folder.mkdir()
    job = Job(str(model), str(folder), Annotation(), "text", "cpu")
    size = corpus.stat().st_size
    shard = Shard(str(corpus), str(corpus), "text", 0, size, "part-00000.conllu")
    return RayWorker(job, [shard], 1, begun), shard


def done(worker: RayWorker) -> Outcome:
    [line] = worker({"number": [0]})["outcome"]
    return Outcome.from_json(line)


def test_a_worker_does_a_shard_once(tagger, corpus, words):
    workers, _ = worker(tagger, corpus)
    assert done(workers) == Outcome("part-00000.conllu", len(words))
    [part] = parts(corpus.parent / "out")
    before = part.stat().st_mtime_ns
    assert done(workers) == Outcome("part-00000.conllu", 0)
    assert part.stat().st_mtime_ns == before
    assert os.listdir(corpus.parent / "out") == [part.name]


def test_what_goes_wrong_is_told(corpus):
    workers, _ = worker(corpus.parent / "none", corpus)
    assert "there is no such model folder" in done(workers).error
    assert os.listdir(corpus.parent / "out") == []


@pytest.mark.parametrize("begun", ["before", "after"])
def test_a_shard_that_kills_its_workers_is_given_up(tagger, corpus, begun):
    since = time.time() - 10 if begun == "before" else time.time() + 1000
    workers, shard = worker(tagger, corpus, since)
    place = beside(corpus.parent / "out" / shard.part)
    for number in range(ATTEMPTS):
        place.with_suffix(f".{number}").touch()
    assert ("4 workers died of it" in done(workers).error) == (begun == "before")


def test_the_capacity_of_a_cluster():
    assert _capacity({"CPU": 5.0}, Resources(cpus=2)) == 2
    assert _capacity({"CPU": 64.0, "GPU": 2.0}, Resources(gpus=0.25)) == 8
    with pytest.raises(SettingError, match=r"--cpus 1 and --gpus 1, but Ray has 4 and 0"):
        _capacity({"CPU": 4.0}, Resources(gpus=1))


def test_a_missing_package_is_named(tagger, corpus, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    assert predict(tagger, corpus, "-o", tmp_path / "out", "--engine", "ray") == 2
    assert 'pip install "strukt[scale]"' in capsys.readouterr().err


def test_help_imports_nothing_heavy():
    program = (
        "import sys; from strukt.cli.main import main\n"
        "try: main(['predict', '--help'])\n"
        "except SystemExit: pass\n"
        "assert not {'ray', 'torch', 'pyarrow', 'numpy'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


def start(model: str, path: Path, folder: Path, *arguments: str) -> subprocess.Popen:
    command = [sys.executable, "-m", "strukt", "predict", model, str(path), "-o", str(folder)]
    return subprocess.Popen(
        [*command, "--engine", "ray", *arguments],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"RAY_worker_niceness": "0"},
    )


@needs_ray
@pytest.mark.slow
def test_a_worker_that_is_killed_loses_and_doubles_nothing(tagger, tmp_path, words):
    path, out = text(tmp_path / "corpus.txt", words * 50), tmp_path / "out"
    process = start(tagger, path, out, "--workers", "2", "--shard_size", "5000")
    deadline = time.monotonic() + TIMEOUT
    writing: list[Path] = []
    while not (writing and parts(out)):  # some parts are there, and one is being written
        assert process.poll() is None
        assert time.monotonic() < deadline
        writing = [part for part in out.glob(".part-*") if part.exists()]
        time.sleep(0.002)
    pid = int(writing[0].name.rpartition(".")[2])
    os.kill(pid, signal.SIGKILL)
    _, err = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 0, err
    assert together(out) == whole(tagger, path)
    count = len(parts(out))
    assert f"{count} of {count} parts are in {out}" in err
    assert not list(out.glob(".part*"))


@needs_ray
@pytest.mark.slow
def test_a_broken_line_is_told_and_the_others_go_on(tagger, tmp_path):
    path, out = tmp_path / "broken.txt", tmp_path / "out"
    path.write_bytes(b"the cat sees a dog\n" * 20 + b"\xff\n" + b"the dog\n" * 20)
    process = start(tagger, path, out, "--shard_size", "100", "--cpus", "0.5")
    _, err = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 2, err
    assert f"{path}:21: byte 1 of the line, 0xff, is not UTF-8" in err
    assert len(parts(out)) == 4
    assert "1 of 5 shards failed" in err
