"""The container's and conda's descriptions of the package agree with it."""

import re
from pathlib import Path

import pytest
import yaml
from tests import tiny_corpora

from strukt.cli.main import COMMANDS
from strukt.serve.app import create_app
from strukt.tasks.tag.model import Tagger

tomllib = pytest.importorskip("tomllib", reason="needs Python 3.11")

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
RECIPE = yaml.safe_load((ROOT / "packaging/conda/recipe.yaml").read_text())
DOCKERFILE = (ROOT / "Dockerfile").read_text()
OTHER_NAMES = {"torch": "pytorch", "typing-extensions": "typing_extensions"}
"""Packages that conda knows by another name."""


def split(requirement):
    """The name, as conda has it, and the least version."""
    name, least = re.fullmatch(r"([\w.-]+)(?:\[\w+\])? ?>=([\d.]+)", requirement).groups()
    return OTHER_NAMES.get(name, name), least


def test_conda_requires_what_the_package_requires():
    required = [split(one) for one in RECIPE["requirements"]["run"]]
    assert required[0] == ("python", PROJECT["requires-python"].removeprefix(">="))
    assert required[1:] == [split(one) for one in PROJECT["dependencies"]]
    assert RECIPE["context"]["version"] == PROJECT["version"]
    [command] = RECIPE["build"]["python"]["entry_points"]
    assert command == f"strukt = {PROJECT['scripts']['strukt']}"


def test_conda_bounds_what_the_extras_bound():
    extras = [some for extra, some in PROJECT["optional-dependencies"].items() if extra != "dev"]
    bounds = {split(requirement) for some in extras for requirement in some}
    assert {split(one) for one in RECIPE["requirements"]["run_constraints"]} <= bounds


def test_the_container_is_made_of_files_that_there_are():
    copied = [name for line in re.findall(r"^COPY (.*) \S+$", DOCKERFILE, re.MULTILINE) for name in line.split()]
    sent = re.findall(r"^!(.*)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    assert sorted(copied) == sorted(sent)
    assert all((ROOT / name).exists() for name in copied)


def test_the_container_runs_commands_that_there_are():
    commands = re.findall(r"(?:RUN strukt |\"strukt\", \")([\w-]+)", DOCKERFILE)
    assert commands == ["warm-up", "serve"]
    assert set(commands) <= set(COMMANDS)
    [extras] = re.findall(r'"\.\[([\w,]+)\]"', DOCKERFILE)
    assert extras.split(",") == ["serve", "onnx"]  # models as trained, and exported ones
    assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"])
    [checked] = re.findall(r"127\.0\.0\.1:8000(/\w+)", DOCKERFILE)
    model = Tagger.from_corpus(tiny_corpora.tag_config(), tiny_corpora.trees(4))
    assert checked in create_app({"tagger": model}).openapi()["paths"]
