"""The order of batches as a function of the progress."""

import dataclasses

from tests import tiny_corpora

from strukt.train.batch_order import Batches
from strukt.train.checkpoints import Progress

SENTENCES = tiny_corpora.trees(40)
SIZES = [len(sentence) for sentence in SENTENCES]
CONFIG = tiny_corpora.tag_config().trainer


def batches(epoch=0, batch=0, rank=0, processes=1):
    return Batches(SENTENCES, SIZES, CONFIG, Progress(epoch=epoch, batch=batch), rank, processes)


def test_batches_may_be_bounded_by_sentences():
    bounded = dataclasses.replace(CONFIG, sentences=3)
    order = Batches(SENTENCES, SIZES, bounded, Progress()).order(0)
    assert max(map(len, order)) == 3
    assert max(map(len, batches().order(0))) > 3


def test_an_epoch_has_every_sentence_once():
    seen = [sentence for batch in batches() for sentence in batch]
    assert sorted(map(str, seen)) == sorted(map(str, SENTENCES))


def test_epochs_differ_but_repeat_themselves_exactly():
    assert batches().order(0) == batches().order(0)
    assert batches().order(0) != batches().order(1)


def test_it_goes_on_in_the_middle_of_an_epoch():
    whole, rest = list(batches(epoch=3)), list(batches(epoch=3, batch=2))
    assert len(whole) > 3
    assert rest == whole[2:]


def test_every_process_has_a_batch_even_if_there_are_fewer_batches_than_processes():
    small = dataclasses.replace(CONFIG, tokens=sum(SIZES) * len(SIZES))
    shares = [Batches(SENTENCES, SIZES, small, Progress(), rank, 4).order(0) for rank in range(4)]
    assert [len(share) for share in shares] == [1, 1, 1, 1]
    assert {tuple(batch) for (batch,) in shares} == {tuple(shares[0][0])}


def test_processes_share_the_batches_evenly():
    whole = batches().order(0)
    shares = [batches(rank=rank, processes=3).order(0) for rank in range(3)]
    assert len({len(share) for share in shares}) == 1
    shared = [tuple(batch) for share in shares for batch in share]
    assert {tuple(batch) for batch in whole} == set(shared)
    assert len(shared) - len(whole) < 3
