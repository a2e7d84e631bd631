"""The self-check finds what is wrong, and only that."""

import os
import subprocess
import sys
import time
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

import strukt.kernels
from strukt.cli import doctor, kernel_table, self_check
from strukt.cli.main import main
from strukt.kernels import dispatch

KERNELS = sum(len(self_check.oracles_of(structure)) for structure in self_check.STRUCTURES)


@pytest.mark.slow
def test_all_is_well(capsys):
    assert main(["doctor", "--thorough"]) == 0
    out = capsys.readouterr().out
    for name in ("python", "torch", "reference", *self_check.STRUCTURES):
        assert name in out
    fused = list(dispatch.backends().values()).count("available") - 1
    assert out.count(" ok\n") == len(self_check.STRUCTURES) * fused
    assert f"{KERNELS * fused} of {KERNELS * fused} kernels checked" in out


def test_every_package_of_kernels_is_checked(monkeypatch):
    asked = set()
    select = dispatch.select
    monkeypatch.setattr(dispatch, "select", lambda name, *given: (asked.add(name), select(name, *given))[1])
    for structure in self_check.STRUCTURES:
        first = next(iter(self_check.oracles_of(structure)))
        self_check._computed(structure, "reference", first)
    root = Path(strukt.__path__[0])
    packages = {".".join(("strukt", *path.parent.relative_to(root).parts)) for path in root.rglob("cpu.py")}
    of_layers = {"strukt.kernels.near"}  # of networks, not of structures or mappings
    of_marginals = {"strukt.structures.low_rank_pcfg.rank_inside", "strukt.structures.bit_span_tree"}
    of_events = {"strukt.kernels.places", "strukt.structures.events"}
    assert len(packages) > 20
    assert packages - of_layers - of_marginals - of_events <= asked
    assert "log_prob" in self_check.ORACLES


def test_the_guide_shows_which_code_answers(capsys):
    assert main(["doctor", "--kernels"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("structure, CPU ")
    assert out in (Path(__file__).parents[2] / "docs/concepts/backends.md").read_text()


def test_a_table_is_told_from_a_kernel():
    ways = {name: dict(zip(kernel_table.ORACLES, row, strict=True)) for name, *row in kernel_table.rows()}
    assert set(ways["SpanTree"].values()) == {"table"}
    asked = ("entropy", "mode", "sparsemap")
    assert [ways["CTC"][question] for question in asked] == ["table", "kernel", "reference"]
    assert len(ways) > 15
    on_gpu = {name: set(row) for name, *row in kernel_table.rows("gpu")}
    assert on_gpu["NonProjectiveTree"] == {"kernel", "reference"}
    assert on_gpu["Matching"] == {"cpu", "reference"}


def test_what_there_is_no_time_for_is_listed_as_not_checked(monkeypatch, capsys):
    monkeypatch.setattr(doctor, "QUICK", 0.0)
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    for structure in self_check.STRUCTURES:
        assert structure in out
    assert out.count(" not checked\n") == len(self_check.STRUCTURES)
    assert f"0 of {KERNELS} kernels checked" in out
    assert "strukt doctor --thorough checks all kernels" in out


def test_the_time_is_looked_at_before_each_kernel(monkeypatch):
    """The first takes all the time there is."""
    monkeypatch.setattr(self_check, "ORACLES", {"log_partition": attrgetter("log_partition")})

    def slow(device):
        time.sleep(0.05)
        return SimpleNamespace(log_partition=torch.zeros(2))

    monkeypatch.setattr(self_check, "STRUCTURES", {"first": slow, "second": slow})
    verdicts = [line[-1] for line in self_check.check_kernels(["cpu"], seconds=0.02)]
    assert verdicts == ["ok", self_check.NOT_CHECKED]


@pytest.mark.slow
def test_the_quick_check_needs_no_more_than_half_a_minute_of_a_core_without_a_cache(tmp_path):
    code = (
        "import time; from strukt.cli.main import main; code = main(['doctor']); "
        "print(time.process_time()); raise SystemExit(code)"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.split()[-1]) < 30


def computed_as(values):
    """A structure of which the log-partition depends on the backend."""

    def make(device):
        chosen = dispatch.select("strukt.structures.linear_chain", torch.zeros(1))
        value = values["reference" if chosen is None else "cpu"]
        if isinstance(value, Exception):
            raise value
        return SimpleNamespace(log_partition=torch.tensor(value))

    return make


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        ([1.0, 2.0], "ok"),
        ([1.0, 2.3], "differs by 1.0e-01"),
        (RuntimeError("no such\ninstruction"), "RuntimeError: no such instruction"),
    ],
)
def test_a_kernel_is_judged_by_the_reference(monkeypatch, capsys, found, verdict):
    monkeypatch.setattr(self_check, "ORACLES", {"log_partition": attrgetter("log_partition")})
    monkeypatch.setattr(
        self_check, "STRUCTURES", {"Ill": computed_as({"reference": [1.0, 2.0], "cpu": found})}
    )
    assert {line[-1] for line in self_check.check_kernels(["cpu"])} == {verdict}
    assert main(["doctor"]) == (0 if verdict == "ok" else 1)
    assert verdict in capsys.readouterr().out


def test_verdicts_that_differ_stand_beside_each_other():
    verdicts = [
        ("Chain", "cpu", "mode", "ok"),
        ("Chain", "cpu", "topk", "differs"),
        ("Trees", "cpu", "mode", "ok"),
    ]
    assert list(doctor._by_structure(verdicts)) == [
        ("Chain", "cpu", "ok: 1 of 2; differs: topk"),
        ("Trees", "cpu", "ok"),
    ]


def test_a_package_that_is_missing_is_said_to_be(monkeypatch):
    monkeypatch.setattr(doctor, "PACKAGES", ("strukt", "no-such-package"))
    assert dict(doctor.versions())["no-such-package"] == "not installed"
