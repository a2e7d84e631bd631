"""All backends lay out the states of targets as PyTorch does, and the errors are the same."""

import pytest
import torch
from tests.kernels.engine.gpu.device import DEVICE, by_kernels, needed

from strukt.kernels import dispatch
from strukt.kernels.dispatch import using
from strukt.structures.ctc.states import states_of

LENGTHS = torch.tensor([[3, 0], [1, 2]])


@needed
def test_blanks_stand_around_labels_and_in_the_padding():
    targets = torch.tensor([[[1, 1, 0], [9, 9, 9]], [[3, -5, 2], [0, 3, 2]]], dtype=torch.int32)
    expected = states_of(targets, LENGTHS, 2, 4, check=True)
    assert expected[0].tolist() == [[2, 1, 2, 1, 2, 0, 2], [2] * 7]
    strided = targets.repeat_interleave(2, -1).to(DEVICE)[..., ::2]
    found = by_kernels(states_of, strided, LENGTHS.to(DEVICE), 2, 4, True)
    assert torch.equal(found.cpu(), expected)


@needed
@pytest.mark.parametrize("wrong", [-1, 2, 4])
def test_what_is_no_label_of_a_target_is_named(wrong):
    targets = torch.tensor([[[1, 1, 0], [9, 9, 9]], [[3, -5, 2], [0, wrong, 2]]], device=DEVICE)
    message = f"targets holds {wrong} at batch item 3, position 1; expected labels from 0 to 3 other than"
    with pytest.raises(ValueError, match=message):
        by_kernels(states_of, targets, LENGTHS.to(DEVICE), 2, 4, True)
    assert by_kernels(states_of, targets, LENGTHS.to(DEVICE), 2, 4, False)[1, 1, 3] == wrong


@needed
def test_transformed_and_empty_targets_go_to_pytorch():
    def select(targets):
        assert dispatch.select("strukt.structures.ctc.states", targets) is None
        return targets

    by_kernels(select, torch.zeros(2, 0, device=DEVICE))
    by_kernels(torch.func.vmap(select), torch.zeros(2, 3, device=DEVICE))


@pytest.mark.parametrize("shape", [(3,), (4, 3), (2, 2, 3), (2, 0), (0, 3), (0,)], ids=str)
@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8])
def test_the_states_of_numpy_are_those_of_pytorch(shape, dtype):
    torch.manual_seed(0)
    targets = torch.randint(1, 9, (*shape, 2)).to(dtype)[..., 0]
    lengths = torch.randint(shape[-1] + 1, shape[:-1])
    targets = torch.where(torch.arange(shape[-1]) < lengths.unsqueeze(-1), targets, 77)
    with using("reference"):
        expected = states_of(targets, lengths, 0, 9, check=True)
    states = states_of(targets, lengths, 0, 9, check=True)
    assert torch.equal(states, expected)
    assert states.dtype == expected.dtype


@pytest.mark.parametrize("wrong", [-1, 2, 4])
@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_labels_that_are_none_are_named_on_cpus(wrong, backend):
    targets = torch.tensor([[[1, 1, 0], [9, 9, 9]], [[3, -5, 2], [0, wrong, 2]]])
    message = f"targets holds {wrong} at batch item 3, position 1; expected labels from 0 to 3 other than"
    with using(backend), pytest.raises(ValueError, match=message):
        states_of(targets, LENGTHS, 2, 4, True)
    read = wrong if backend == "cpu" else min(max(wrong, 0), 3)
    with using(backend):
        assert states_of(targets, LENGTHS, 2, 4, False)[1, 1, 3] == read
