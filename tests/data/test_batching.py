"""Batches: all sentences, bounded size, an order that depends on (seed, epoch) alone."""

import random
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strukt.data import conllu
from strukt.data.batching import batches, consecutive_batches, padded_size, split_long
from strukt.data.files.problems import DataWarning

lengths = st.lists(st.integers(0, 60), max_size=60)
seeds = st.one_of(st.none(), st.integers(0, 5))


@given(lengths, st.integers(1, 100), seeds, st.integers(0, 3), st.sampled_from([None, 1, 3]))
def test_every_sentence_is_in_exactly_one_batch_of_bounded_size(sizes, max_tokens, seed, epoch, most):
    result = batches(sizes, max_tokens, seed, epoch, max_sentences=most)
    assert sorted(index for batch in result for index in batch) == list(range(len(sizes)))
    assert all(result)
    for batch in result:
        assert most is None or len(batch) <= most
        assert padded_size([sizes[index] for index in batch]) <= max_tokens or len(batch) == 1
    if seed is None:
        assert [sizes[index] for batch in result for index in batch] == sorted(sizes)


@given(lengths, st.integers(1, 100), st.integers(0, 5), st.integers(0, 3))
def test_a_pure_function(sizes, max_tokens, seed, epoch):
    state = random.getstate()
    first = batches(sizes, max_tokens, seed, epoch)
    assert random.getstate() == state, "the global generator is left alone"
    random.random()
    assert batches(sizes, max_tokens, seed, epoch) == first


def test_epochs_and_seeds_differ():
    sizes = [5] * 40
    orders = [str(batches(sizes, 20, seed, epoch)) for seed in (1, 2, 12) for epoch in (0, 1, 2)]
    assert len(set(orders)) == len(orders)
    assert batches(sizes, 20, seed=1, epoch=21) != batches(sizes, 20, seed=12, epoch=1)


def test_the_same_in_another_process():
    program = "from strukt.data.batching import batches; print(batches(list(range(20)), 40, 7, 3))"
    environment = {"PYTHONHASHSEED": "123"}
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, env=environment)
    assert output.stdout.decode().strip() == str(batches(list(range(20)), 40, 7, 3))


def test_padding_is_small_for_sorted_lengths():
    generator = random.Random(0)
    sizes = [generator.randint(1, 50) for _ in range(2000)]
    padded = sum(len(batch) * max(sizes[index] for index in batch) for batch in batches(sizes, 1000, seed=0))
    assert padded < 1.05 * sum(sizes)


@pytest.mark.parametrize("bound", [0, -1])
def test_bound_below_one(bound):
    with pytest.raises(ValueError, match=f"max_tokens is {bound}; expected at least 1"):
        batches([1], bound)
    with pytest.raises(ValueError, match=f"max_sentences is {bound}; expected at least 1"):
        batches([1], 9, max_sentences=bound)
    with pytest.raises(ValueError, match=f"most is {bound}; expected at least 1"):
        next(consecutive_batches([["w"]], lambda group: list(map(len, group)), 9, bound))
    with pytest.raises(ValueError, match=f"max_tokens is {bound}; expected at least 1"):
        next(consecutive_batches([["w"]], lambda group: list(map(len, group)), bound, 9))
    with pytest.raises(ValueError, match=f"limit is {bound}; expected at least 1"):
        split_long([], bound)


@given(lengths, st.integers(1, 100), st.integers(1, 9))
def test_runs_are_a_stream_cut_where_it_is_full(sizes, max_tokens, most):
    words = [["w"] * size for size in sizes]
    found = list(consecutive_batches(iter(words), lambda group: list(map(len, group)), max_tokens, most))
    assert [word for run in found for word in run] == words
    for run in found:
        assert len(run) <= most
        assert len(run) * max(map(len, run)) <= max_tokens or len(run) == 1


def test_runs_read_no_further_ahead_than_they_may():
    stream = iter([["w"]] * 10)
    assert len(next(consecutive_batches(stream, lambda group: list(map(len, group)), max_tokens=100, most=4))) == 4
    assert len(list(stream)) == 6


def test_the_padded_size_of_no_sentences():
    assert padded_size([]) == 0


def made(length, line):
    return conllu.from_forms(["w"] * length, path="a.conllu", line=line)


def test_long_sentences_are_set_apart_and_said():
    sentences = [made(3, 1), made(10, 5), made(1, 20), made(11, 30)]
    with pytest.warns(DataWarning, match=r"^a\.conllu:5: 2 of 4 sentences have more than 3 words") as caught:
        short, long = split_long(iter(sentences), limit=3)
    assert len(caught) == 1
    assert short == [sentences[0], sentences[2]]
    assert long == [sentences[1], sentences[3]]


def test_what_is_long_is_said_in_the_unit_of_the_reader():
    """Of the shorter sentence more is read."""
    sentences = [made(3, 1), made(2, 5)]
    message = r"^a\.conllu:5: 1 of 2 sentences have more than 8 word pieces and are set aside"
    with pytest.warns(DataWarning, match=message):
        short, long = split_long(sentences, 8, [8, 9], "word pieces")
    assert (short, long) == (sentences[:1], sentences[1:])


def test_no_warning_without_long_sentences():
    assert split_long([made(3, 1)], limit=3) == ([made(3, 1)], [])
