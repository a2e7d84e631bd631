"""The adapters: strukt and every peer that is installed agree on tiny inputs."""

import math
from importlib.util import find_spec

import pytest
import torch
from benchmarks.contest import Contestant, Family
from benchmarks.harness import truth
from benchmarks.measure import TOLERANCE
from benchmarks.run import FAMILIES, GROUPS

MODULES = {"strukt": "strukt", "pytorch-crf": "torchcrf"}
ADAPTERS = [
    pytest.param(family, contestant, operation, id=f"{operation}-{family.name}-{contestant.name}")
    for family in FAMILIES.values()
    for contestant in family.contestants
    if not contestant.yardstick
    for operation in family.operations
]


@pytest.mark.filterwarnings("ignore")  # the peers use deprecated functions
@pytest.mark.parametrize(("family", "contestant", "operation"), ADAPTERS)
def test_adapter_is_right(family: Family, contestant: Contestant, operation: str) -> None:
    module = MODULES.get(contestant.name, contestant.name.replace("-", "_"))
    if find_spec(module) is None:
        pytest.skip(f"{contestant.name} is not installed")
    if operation == "mode" and contestant.mode is None:
        pytest.skip(f"{contestant.name} has no decoder")
    inputs = family.warm_up.inputs()
    copies = [scores.clone() for scores in inputs]
    try:
        answer = family.operations[operation](family.taught(contestant, inputs), inputs)
    except NotImplementedError as error:
        if contestant.name == "strukt":
            raise
        pytest.skip(f"{contestant.name}: {error}")
    assert truth(family, family.warm_up)(operation, answer) < TOLERANCE
    for scores, copy in zip(inputs, copies, strict=True):
        assert torch.equal(scores, copy)
        assert not scores.requires_grad


def test_inputs_are_the_same_in_every_process() -> None:
    for family in FAMILIES.values():
        for case in (family.warm_up, *family.cases):
            if sum(map(math.prod, case.shapes)) > 1e7:
                continue  # a gigabyte of them would be as equal
            first, second = case.inputs(), case.inputs()
            assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
            assert [tuple(scores.shape) for scores in first] == list(case.shapes)


def test_strukt_comes_first_in_every_family() -> None:
    assert {family.contestants[0].name for family in FAMILIES.values()} == {"strukt"}


def test_every_exact_family_trains_and_decodes_one_item_alone() -> None:
    for family in GROUPS["exact"]:
        assert "training step" in family.operations
        assert all(contestant.learn for contestant in family.contestants)
        alone = [case for case in family.cases if case.name.startswith("1x")]
        assert len(alone) >= 2
        assert any(case.name.startswith("1x20") for case in alone)
