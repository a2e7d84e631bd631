"""The CRF layer against its formula, by enumeration."""

import itertools

import pytest
import torch

from strukt.nn import CRF, bio_constraints

TAGS = ["O", "B-LOC", "B-PER", "I-LOC", "I-PER"]


def random_crf(tags, constraints=None):
    torch.manual_seed(0)
    crf = CRF(tags, constraints).double()
    for parameter in crf.parameters():
        torch.nn.init.normal_(parameter)
    return crf


def formula(crf, emissions, tags):
    score = crf.start[tags[0]] + crf.end[tags[-1]]
    score = score + sum(emissions[position, tag] for position, tag in enumerate(tags))
    return score + sum(crf.transition[before, tag] for before, tag in itertools.pairwise(tags))


@pytest.mark.parametrize("n", [1, 2, 4])
def test_the_likelihood_is_that_of_the_formula(n):
    crf = random_crf(3)
    emissions = torch.randn(2, 4, 3, dtype=torch.double)
    lengths = torch.tensor([n, 4])
    chain = crf(emissions, lengths)
    sequences = list(itertools.product(range(3), repeat=n))
    scores = torch.stack([formula(crf, emissions[0], tags) for tags in sequences])
    for tags, score in zip(sequences, scores, strict=True):
        event = torch.tensor([[*tags, *[-1] * (4 - n)], [0, 1, 2, 0]])
        torch.testing.assert_close(chain.log_prob(event)[0], score - scores.logsumexp(0))
    assert tuple(chain.mode[0, :n].tolist()) == sequences[scores.argmax()]


def test_lengths_may_be_left_out():
    crf, emissions = random_crf(3), torch.randn(2, 4, 3, dtype=torch.double)
    whole = crf(emissions, torch.tensor([4, 4])).log_partition
    torch.testing.assert_close(crf(emissions).log_partition, whole)
    torch.testing.assert_close(crf(emissions[0]).log_partition, whole[0])


def test_an_empty_sentence_has_one_sequence():
    chain = random_crf(3)(torch.randn(2, 4, 3, dtype=torch.double), torch.tensor([0, 4]))
    assert chain.log_partition[0] == 0


def test_every_score_is_learned():
    crf = random_crf(3)
    chain = crf(torch.randn(1, 4, 3, dtype=torch.double))
    chain.log_prob(torch.tensor([[0, 1, 2, 0]])).sum().backward()
    assert all(parameter.grad.abs().min() > 0 for parameter in crf.parameters())


def test_only_sequences_that_keep_the_constraints_are_possible():
    crf = random_crf(5, bio_constraints(TAGS))
    chain = crf(torch.randn(1, 3, 5, dtype=torch.double))
    total = torch.zeros(())
    for tags in itertools.product(range(5), repeat=3):
        probability = chain.log_prob(torch.tensor([tags])).exp().item()
        assert (probability > 0) == is_bio([TAGS[tag] for tag in tags])
        total += probability
    assert total.item() == pytest.approx(1)


def is_bio(tags):
    before = ["O", *tags]
    return all(tag[0] != "I" or previous[1:] == tag[1:] for previous, tag in zip(before, tags, strict=False))


def test_constraints_are_not_among_the_weights():
    assert set(CRF(5, bio_constraints(TAGS)).state_dict()) == {"transition", "start", "end"}


def test_forbidden_sequences_get_no_gradient():
    crf = random_crf(5, bio_constraints(TAGS))
    crf(torch.randn(1, 3, 5, dtype=torch.double)).log_partition.sum().backward()
    assert crf.transition.grad[0, 3] == 0
    assert crf.start.grad[3:].tolist() == [0, 0]
    assert all(parameter.grad.isfinite().all() for parameter in crf.parameters())


def test_half_precision_is_computed_in_full():
    chain = CRF(3)(torch.randn(2, 4, 3, dtype=torch.bfloat16))
    assert chain.log_partition.dtype == torch.float32
