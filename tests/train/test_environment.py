"""The record of what a model was trained with."""

import platform

import torch

from strukt.train.environment import PACKAGES, environment


def test_it_names_versions_machine_and_threads():
    record = environment()
    assert record["torch"] == torch.__version__
    assert record["python"] == platform.python_version()
    assert record["threads"] == torch.get_num_threads()
    assert set(PACKAGES) < set(record)


def test_a_package_that_is_not_there(monkeypatch):
    monkeypatch.setattr("strukt.train.environment.PACKAGES", ("no-such-package",))
    assert environment()["no-such-package"] == "not installed"
