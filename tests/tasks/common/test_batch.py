"""What is done when a batch does not fit into the memory."""

import pytest
import torch
from tests import tiny_corpora

from strukt.tasks.common.batch import Batch, in_fitting_pieces

SENTENCES = tiny_corpora.trees(8)


def fitting(most):
    """A computation that has memory for so many sentences."""

    def run(pieces):
        if max(map(len, pieces)) > most:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return [sentence for piece in pieces for sentence in piece]

    return run


def test_what_fits_is_run_as_it_is(recwarn):
    assert in_fitting_pieces(len, SENTENCES) == 1
    assert not recwarn


@pytest.mark.parametrize("most", [1, 2, 3, 5])
def test_it_is_halved_until_it_fits_and_says_so(most):
    with pytest.warns(UserWarning, match="out of memory") as told:
        assert in_fitting_pieces(fitting(most), SENTENCES) == SENTENCES
    assert "out of memory with 8 sentences of up to 8 words at once; continuing with 4" in str(told[0].message)
    assert len(told) == {1: 3, 2: 2, 3: 2, 5: 1}[most]


def test_one_sentence_cannot_be_halved():
    with pytest.warns(UserWarning, match="out of memory"), pytest.raises(torch.OutOfMemoryError):
        in_fitting_pieces(fitting(0), SENTENCES)


def test_the_allocator_of_the_cpu_is_understood():
    def run(pieces):
        if len(pieces) == 1:
            torch.empty(1 << 60)
        return len(pieces)

    with pytest.warns(UserWarning, match="out of memory"):
        assert in_fitting_pieces(run, SENTENCES) == 2


def test_other_errors_are_passed_on():
    def run(_):
        raise RuntimeError("shapes do not match")

    with pytest.raises(RuntimeError, match="shapes do not match"):
        in_fitting_pieces(run, SENTENCES)


def test_a_batch_moves_as_a_whole():
    one = torch.ones(2, dtype=torch.long)
    moved = Batch(SENTENCES[:2], one, {"words": one}, {"tags": one}).to("meta")
    assert moved.sentences == SENTENCES[:2]
    assert {
        moved.lengths.device.type,
        moved.inputs["words"].device.type,
        moved.targets["tags"].device.type,
    } == {"meta"}
