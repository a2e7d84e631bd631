"""The self-check finds what is wrong, and only that."""

import os
from operator import attrgetter
from types import SimpleNamespace

import pytest
import torch

from strukt.cli import doctor, self_check
from strukt.cli.main import main
from strukt.kernels import dispatch


def test_all_is_well(capsys):
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    for name in ("python", "torch", "reference", *self_check.STRUCTURES):
        assert name in out
    assert out.count(" ok\n") == len(self_check.STRUCTURES) * len(self_check.ORACLES) * (
        len(dispatch.backends()) - 1
    )


def computed_as(values):
    """A structure of which the log-partition depends on the backend."""

    def make(scores, lengths):
        value = values[os.environ["STRUKT_BACKEND"]]
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


@pytest.mark.parametrize("before", [None, "reference"])
def test_the_environment_is_left_as_it_was(monkeypatch, before):
    monkeypatch.delenv("STRUKT_BACKEND", raising=False)
    if before:
        monkeypatch.setenv("STRUKT_BACKEND", before)
    with self_check.chosen("cpu"):
        assert os.environ["STRUKT_BACKEND"] == "cpu"
    assert os.environ.get("STRUKT_BACKEND") == before


def test_a_package_that_is_missing_is_said_to_be(monkeypatch):
    monkeypatch.setattr(doctor, "PACKAGES", ("strukt", "no-such-package"))
    assert dict(doctor.versions())["no-such-package"] == "not installed"
