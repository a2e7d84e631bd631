"""The package description and the pinned versions belong together."""

import os
import re
import subprocess
from itertools import chain
from pathlib import Path

try:
    import tomllib
except ImportError:  # Python 3.10
    import tomli as tomllib  # type: ignore[import-not-found,no-redef]

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
REQUIREMENTS = [*PROJECT["dependencies"], *chain.from_iterable(PROJECT["optional-dependencies"].values())]
PINS = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]


def normalised(requirement: str) -> str:
    return re.split(r"[\[><=; ]", requirement)[0].lower().replace("_", "-")


def test_pins_are_exact_and_name_no_place():
    assert [pin for pin in PINS if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", pin)] == []


def test_pytorch_is_pinned_without_a_build():
    assert "torch==2.13.0" in PINS


def test_whatever_the_tests_need_is_pinned():
    pinned = {normalised(pin) for pin in PINS}
    extras = PROJECT["optional-dependencies"]
    of_extras = (*extras["train"], *extras["encoders"], *extras["docs"], *extras["dev"][1:])
    needed = [*PROJECT["dependencies"], *of_extras]
    assert {normalised(requirement) for requirement in needed} <= pinned


def test_requirements_have_lower_bounds_only():
    assert [each for each in REQUIREMENTS if re.search(r"<|==|~=|@", each.partition(";")[0])] == []


def test_make_stops_at_the_first_failure(tmp_path):
    """A `python` that fails in the step of the types must fail the whole."""
    fake = tmp_path / "venv" / "bin"
    fake.mkdir(parents=True)
    for name, code in (("python", 0), ("ruff", 0), ("mypy", 3)):
        (fake / name).write_text(f"#!/bin/sh\necho {name} $*\nexit {code}\n")
        (fake / name).chmod(0o755)
    order = ["make", "test", f"VENV={tmp_path}/venv"]
    alone = {name: value for name, value in os.environ.items() if name != "MAKEFLAGS"}  # of the make of CI
    done = subprocess.run(order, cwd=ROOT, env=alone, capture_output=True, text=True)
    assert done.returncode != 0
    assert "mypy" in done.stdout
    assert "-m pytest" not in done.stdout
