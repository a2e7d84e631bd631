"""Lengths as lists, and from masks."""

import numpy as np
import pytest
import torch

import strukt
from strukt.checks import arguments
from strukt.checks.lengths import lengths_from_mask, pad_concatenated


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int32, torch.int64])
def test_lengths_of_masks_with_any_batch_axes(dtype):
    lengths = torch.randint(6, (2, 3, 4))
    mask = (torch.arange(5) < lengths.unsqueeze(-1)).to(dtype)
    found = strukt.lengths_from_mask(mask)
    assert found.dtype == torch.int64
    assert torch.equal(found, lengths)
    assert torch.equal(lengths_from_mask(mask[0, 0, 0]), lengths[0, 0, 0])


def test_masks_without_positions_or_items():
    assert lengths_from_mask(torch.ones(2, 0, dtype=torch.bool)).tolist() == [0, 0]
    assert lengths_from_mask(torch.ones(0, 3, dtype=torch.bool)).shape == (0,)


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (
            [[1, 1, 1], [1, 0, 1]],
            "mask of batch item 1 has a hole: it is 0 at position 1 and 1 at position 2",
        ),
        ([[0, 1, 1], [1, 0, 0]], "mask of batch item 0 has a hole: it is 0 at position 0"),
        ([[1, 1, 1], [2, 0, 0]], "mask holds 2 at batch item 1, position 0"),
        ([[1, -1, 0]], "mask holds -1 at batch item 0, position 1"),
        ([[1.0, 0.0]], r"mask has dtype torch.float32; .* e.g. mask.bool\(\)"),
        (1, r"mask has shape \(\)"),
    ],
)
def test_other_masks_are_refused(mask, message):
    with pytest.raises(ValueError, match=message):
        lengths_from_mask(torch.tensor(mask))


def test_what_is_no_tensor_is_refused():
    with pytest.raises(ValueError, match="mask is a list"):
        lengths_from_mask([[1, 0]])


def test_masks_are_checked_under_vmap():
    masks = torch.tensor([[[1, 1, 0], [1, 0, 0]]])
    assert torch.func.vmap(lengths_from_mask)(masks).tolist() == [[2, 1]]
    with pytest.raises(ValueError, match="has a hole"):
        torch.func.vmap(lengths_from_mask)(masks.flip(-1))


def taken(value, batch=(2,), longest=5):
    return arguments.lengths(value, torch.Size(batch), longest, torch.device("cpu"))


def test_lists_and_numbers_are_lengths():
    assert torch.equal(taken([3, 5]), torch.tensor([3, 5]))
    assert torch.equal(taken((3, 5)), torch.tensor([3, 5]))
    assert torch.equal(taken([[3], [5]], (2, 1)), torch.tensor([[3], [5]]))
    assert torch.equal(taken(4, ()), torch.tensor(4))
    assert torch.equal(taken([], (0,)), torch.zeros(0, dtype=torch.long))
    assert torch.equal(taken([torch.tensor(1), torch.tensor(2)]), torch.tensor([1, 2]))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([3, 6], "lengths holds 6 for batch item 1; expected 0 to 5"),
        ([3], r"lengths has shape \(1,\); expected \(2,\)"),
        (3, r"lengths has shape \(\); expected \(2,\)"),
        ([3.0, 2.0], "lengths is of type torch.float32"),
        ([[3], [2, 1]], r"lengths is \[\[3\], \[2, 1\]\]; expected a LongTensor or a list of whole numbers"),
        (["3", "2"], "expected a LongTensor or a list of whole numbers"),
        (True, "lengths is of type bool"),
        ([True, False], r"lengths of a mask are strukt.lengths_from_mask\(mask\)"),
        (torch.ones(2, 5, dtype=torch.bool), r"strukt.lengths_from_mask\(mask\)"),
        (torch.ones(2, 5, dtype=torch.long), r"strukt.lengths_from_mask\(mask\)"),
    ],
)
def test_what_is_given_and_expected_is_said(value, message):
    with pytest.raises(ValueError, match=message):
        taken(value)


def test_structures_take_lists():
    chain = strukt.LinearChain(torch.zeros(2, 4, 3), torch.zeros(3, 3), [4, 2])
    assert chain.lengths.tolist() == [4, 2]
    aligned = strukt.MonotoneAlignment(
        torch.zeros(1, 3, 4), torch.tensor(0.0), torch.tensor(0.0), lengths=[2], target_lengths=[3]
    )
    assert aligned.target_lengths.tolist() == [3]
    ctc = strukt.CTC(torch.zeros(2, 5, 3), torch.ones(2, 2, dtype=torch.long), [5, 4], [2, 1])
    assert (ctc.lengths.tolist(), ctc.target_lengths.tolist()) == ([5, 4], [2, 1])
    hmm = strukt.HMM(torch.zeros(2), torch.zeros(2, 2), torch.zeros(2, 3))
    words = torch.zeros(2, 4, dtype=torch.long)
    assert torch.equal(hmm.log_prob(words, [4, 1]), hmm.log_prob(words, torch.tensor([4, 1])))
    labelled = strukt.SpanTree(torch.zeros(2, 3, 3, 3), [2, 1], labelled=True)
    assert strukt.SpanTree(torch.zeros(2, 3, 3, 3), [2, 1]).labelled == labelled.labelled


def test_sequences_one_behind_the_other_become_a_batch():
    rows = torch.arange(10.0).view(5, 2)
    x, lengths = pad_concatenated(rows, [2, 0, 3])
    assert x.shape == (3, 3, 2)
    assert lengths.tolist() == [2, 0, 3]
    assert torch.equal(torch.cat([sequence[:length] for sequence, length in zip(x, lengths, strict=True)]), rows)
    assert (x[0, 2] == 0).all()
    of_arrays, _ = pad_concatenated(rows.numpy(), np.array([2, 0, 3]))
    assert torch.equal(of_arrays, x)
    assert pad_concatenated(torch.zeros(0, 4), [])[0].shape == (0, 0, 4)


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        ([2, 2], "lengths add up to 4; expected 5, the number of rows of x"),
        ([6, -1], "x has shape .* and lengths is .*; expected .* whole numbers of 0 or more"),
        ([2.0, 3.0], "whole numbers"),
        (5, "one for each sequence"),
        ([True] * 5, "whole numbers"),
    ],
)
def test_other_lengths_of_them_are_refused(lengths, message):
    with pytest.raises(ValueError, match=message):
        pad_concatenated(torch.arange(5), lengths)
