"""The command finds the programs of the repository, and says so where there are none."""

import sys

import pytest

from strukt.cli import benchmark
from strukt.cli.main import main


@pytest.fixture
def measured(monkeypatch):
    """What the benchmarks are asked to measure, in place of minutes of measuring."""
    monkeypatch.syspath_prepend(str(benchmark.CHECKOUT))
    from benchmarks import run

    asked = []
    monkeypatch.setattr(run, "report", lambda *arguments: asked.append(arguments) or 0)
    return asked


def test_a_group_means_its_families(measured):
    from benchmarks.run import GROUPS

    for group in ("exact", "hmm"):
        assert main(["benchmark", group, "--rounds", "2", "--threads", "1"]) == 0
        assert measured.pop() == ([family.name for family in GROUPS[group]], 2, 1, None)


def test_one_family(measured):
    assert main(["benchmark", "chain", "--output", "page.md"]) == 0
    assert measured == [(["chain"], 5, None, "page.md")]


def test_an_unknown_family_is_refused(capsys, measured):
    assert main(["benchmark", "cahin"]) == 2
    assert (
        "unknown family cahin; expected some of exact, sparse, bits, hmm, mean-field, "
        in capsys.readouterr().err
    )
    assert not measured


def test_an_installed_package_has_no_benchmarks(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(benchmark, "CHECKOUT", tmp_path)
    assert main(["benchmark", "exact"]) == 2
    assert "clone the repository" in capsys.readouterr().err
    assert str(tmp_path) not in sys.path


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("--rounds", "0", "1 or more"),
        ("--threads", "-1", "1 or more"),
        ("--seconds", "-1.0", "a finite number, 0 or more"),
        ("--seconds", "nan", "a finite number, 0 or more"),
    ],
)
def test_numbers_out_of_range_are_refused(option, value, expected, capsys, measured):
    assert main(["benchmark", "exact", option, value]) == 2
    assert f"{option} is {value}; expected {expected}" in capsys.readouterr().err
    assert not measured
