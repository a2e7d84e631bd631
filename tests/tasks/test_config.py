"""Configurations: written, read, and imported without anything heavy."""

import dataclasses
import subprocess
import sys
from importlib import import_module

import pytest

from strukt.tasks import TASKS
from strukt.tasks.config import TaskConfig, TransformerConfig, changed, from_dict


@pytest.fixture(params=sorted(TASKS))
def task(request):
    return import_module(TASKS[request.param])


def test_a_configuration_comes_back(task):
    config = task.Config(train="a", dev="b")
    config.optimizer.clip = 7.0
    config.trainer.max_minutes = 1.5
    assert from_dict(task.Config, dataclasses.asdict(config)) == config


@dataclasses.dataclass
class Part:
    kept: int = 1
    new: str = changed("scores", earlier="probabilities")


@dataclasses.dataclass
class Whole:
    part: Part = dataclasses.field(default_factory=lambda: Part(kept=2))
    size: int = changed(3, earlier=4)


def test_missing_fields_keep_their_defaults(task):
    found = from_dict(task.Config, {"train": "a"})
    assert found.trainer == task.Config().trainer
    assert found.train == "a"


def test_where_a_default_has_changed_missing_fields_mean_what_they_meant():
    assert Whole() == Whole(Part(2, "scores"), 3)
    assert from_dict(Whole, {}) == Whole(Part(2, "probabilities"), 4)
    assert from_dict(Whole, {"part": {"kept": 5}}) == Whole(Part(5, "probabilities"), 4)
    assert from_dict(Whole, dataclasses.asdict(Whole())) == Whole()


def test_models_that_were_saved_before_are_what_they_were():
    encoder = from_dict(TaskConfig, {"encoder": {"transformer": {"reach": 3}}}).encoder
    assert encoder.transformer == TransformerConfig(reach=3, distance_values=False)
    assert encoder.pt.root_output == "probabilities"


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
