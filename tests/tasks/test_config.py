"""Configurations: written, read, and imported without anything heavy."""

import dataclasses
import subprocess
import sys
from importlib import import_module

import pytest

from strukt.tasks import TASKS
from strukt.tasks.config import from_dict


@pytest.fixture(params=sorted(TASKS))
def task(request):
    return import_module(TASKS[request.param])


def test_a_configuration_comes_back(task):
    config = task.Config(train="a", dev="b")
    config.optimizer.clip = 7.0
    config.trainer.max_minutes = 1.5
    assert from_dict(task.Config, dataclasses.asdict(config)) == config


def test_missing_fields_keep_their_defaults(task):
    assert from_dict(task.Config, {"train": "a"}) == task.Config(train="a")


@pytest.mark.parametrize("values", [{"epoch": 1}, {"trainer": {"epoch": 1}}])
def test_unknown_fields_are_named(task, values):
    with pytest.raises(ValueError, match=r"Config: unknown option 'epoch'; known are"):
        from_dict(task.Config, values)


def test_every_option_is_described(task):
    def described(kind):
        inherited = "".join(base.__doc__ or "" for base in kind.__mro__)
        for field in dataclasses.fields(kind):
            assert f" {field.name}: " in inherited, f"{kind.__name__}.{field.name}"
            default = getattr(kind(), field.name)
            if dataclasses.is_dataclass(default):
                described(type(default))

    described(task.Config)


def test_nothing_heavy_is_imported():
    modules = ", ".join(TASKS.values())
    heavy = "{'torch', 'numba', 'lightning', 'jsonargparse', 'rich', 'numpy'}"
    code = f"import sys, {modules}; print(sorted({heavy} & set(sys.modules)))"
    found = subprocess.run(
        [sys.executable, "-S", "-c", PATHS + code], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"


# Without site packages nothing is preloaded by the environment; the package itself has to be found.
PATHS = f"import sys; sys.path[:] = {sys.path!r}; "


def test_every_task_says_what_it_is_and_has_a_model(task):
    assert task.SUMMARY
    assert task.model_class().task in TASKS
