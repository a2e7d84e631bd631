"""Options: written and read."""

import dataclasses

import pytest

from strukt.tasks import TASKS
from strukt.tasks.common.options import from_dict


@pytest.fixture(params=sorted(TASKS))
def kind(request):
    return TASKS[request.param].config_class()


def test_a_configuration_comes_back(kind):
    config = kind(train="a", dev="b")
    config.optimizer.clip = 7.0
    config.trainer.max_minutes = 1.5
    assert from_dict(kind, dataclasses.asdict(config)) == config


def test_missing_fields_keep_their_defaults(kind):
    found = from_dict(kind, {"train": "a"})
    assert found.trainer == kind().trainer
    assert found.train == "a"


def test_unknown_fields_are_named(kind):
    for values in ({"epoch": 1}, {"trainer": {"epoch": 1}}):
        with pytest.raises(ValueError, match=r"Config: unknown option 'epoch'; known are"):
            from_dict(kind, values)


def test_every_option_is_described(kind):
    def described(part):
        inherited = "".join(base.__doc__ or "" for base in part.__mro__)
        for field in dataclasses.fields(part):
            assert f" {field.name}: " in inherited, f"{part.__name__}.{field.name}"
            default = getattr(part(), field.name)
            if dataclasses.is_dataclass(default):
                described(type(default))

    described(kind)


def test_what_a_task_says_of_itself_is_no_option(kind):
    for name in ("summary", "readers", "uses"):
        with pytest.raises(ValueError, match=f"unknown option '{name}'"):
            from_dict(kind, {name: ""})
