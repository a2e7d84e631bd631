"""The CRF layer against its formula, by enumeration."""

import itertools

import pytest
import torch

from strukt.nn import CRF, Constraints, bio_constraints

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


def test_an_empty_sentence_has_one_sequence():
    chain = random_crf(3)(torch.randn(2, 4, 3, dtype=torch.double), torch.tensor([0, 4]))
    assert chain.log_partition[0] == 0


def test_forbidden_sequences_get_no_gradient():
    crf = random_crf(5, bio_constraints(TAGS))
    crf(torch.randn(1, 3, 5, dtype=torch.double)).log_partition.sum().backward()
    assert crf.transition.grad[0, 3] == 0
    assert crf.start.grad[3:].tolist() == [0, 0]
    assert all(parameter.grad.isfinite().all() for parameter in crf.parameters())


def test_half_precision_is_computed_in_full():
    chain = CRF(3)(torch.randn(2, 4, 3, dtype=torch.bfloat16))
    assert chain.log_partition.dtype == torch.float32


@pytest.mark.parametrize(
    ("shape", "lengths", "words"),
    [
        ((1, 3, 5), torch.ones(1, 3, dtype=torch.long), ["(1, 3)", "expected a LongTensor of shape (1,)"]),
        (
            (3, 3, 5),
            torch.ones(3, 3, dtype=torch.long),
            ["(3, 3)", "log_prob(tags)", "lengths_from_mask(mask)"],
        ),
        ((2, 3, 5), torch.ones(2, 3, dtype=torch.bool), ["torch.bool", "strukt.lengths_from_mask(mask)"]),
        ((2, 3, 5), [[0, 1, 2], [0, 0, 0]], ["(2, 3)", "log_prob(tags)"]),
        ((3, 5), torch.zeros(3, dtype=torch.long), ["(3,)", "expected a LongTensor of shape ()"]),
        ((1, 3, 5), torch.tensor([3, 2]), ["lengths has shape (2,); expected (1,)"]),
        ((2, 3, 5), torch.tensor([3]), ["lengths has shape (1,); expected (2,)"]),
        ((2, 3, 5), torch.tensor([3, 4]), ["holds 4 for batch item 1", "expected 0 to 3"]),
        ((2, 3, 5), torch.tensor([3.0, 2.0]), ["torch.float32"]),
        ((2, 3, 1), None, ["emissions has shape (2, 3, 1)", "(*batch, n, 5)"]),
        ((2, 3, 6), None, ["emissions has shape (2, 3, 6)", "5 tags"]),
        ((5,), None, ["emissions has shape (5,)"]),
    ],
)
@pytest.mark.parametrize("method", ["forward", "scores"])
def test_what_does_not_fit_is_refused_before_anything_is_broadcast(method, shape, lengths, words):
    with pytest.raises(ValueError, match=r"expected|between") as raised:
        getattr(CRF(5), method)(torch.randn(shape), lengths)
    assert all(word in str(raised.value) for word in words), str(raised.value)


@pytest.mark.parametrize("call", [lambda crf, *given: crf(*given), lambda crf, x, y, m: crf(x, y, mask=m)])
def test_the_arguments_of_pytorch_crf_are_told(call):
    emissions, tags, mask = torch.randn(2, 3, 5), torch.zeros(2, 3).long(), torch.ones(2, 3).bool()
    with pytest.raises(TypeError, match=r"log_prob\(tags\).* lengths .*strukt.lengths_from_mask\(mask\)"):
        call(CRF(5), emissions, tags, mask)


def test_names_of_pytorch_crf_and_allennlp_are_answered():
    crf = CRF(5)
    with pytest.raises(AttributeError, match=r"CRF has no decode, .*crf\(emissions, lengths\).mode"):
        crf.decode(torch.randn(2, 3, 5))
    with pytest.raises(AttributeError, match=r"use crf.start$"):
        _ = crf.start_transitions
    with pytest.raises(AttributeError, match=r"CRF has no viterbi_tags, .*crf\(emissions, lengths\).mode"):
        crf.viterbi_tags(torch.randn(2, 3, 5), torch.ones(2, 3).bool())
    assert not hasattr(crf, "num_tags")
    with pytest.raises(AttributeError, match="no attribute 'else'"):
        getattr(crf, "else")


def test_lengths_may_be_lists_or_a_number_or_left_out():
    crf, emissions = random_crf(3), torch.randn(2, 4, 3, dtype=torch.double)
    whole = crf(emissions, torch.tensor([4, 4])).log_partition
    torch.testing.assert_close(crf(emissions).log_partition, whole)
    torch.testing.assert_close(crf(emissions[0]).log_partition, whole[0])
    of_tensor = crf(emissions, torch.tensor([4, 2])).log_partition
    torch.testing.assert_close(crf(emissions, [4, 2]).log_partition, of_tensor)
    torch.testing.assert_close(crf(emissions[1], 2).log_partition, of_tensor[1])
    torch.testing.assert_close(
        crf.scores(emissions, (4, 2))[0], crf.scores(emissions, torch.tensor([4, 2]))[0]
    )


@pytest.mark.parametrize("tags", [0, -1, 2.0, True])
def test_there_is_a_tag(tags):
    with pytest.raises(ValueError, match=f"tags is {tags}; expected"):
        CRF(tags)


def test_constraints_of_another_size_or_type_are_refused():
    with pytest.raises(ValueError, match=r"constraints.start has shape \(5,\); expected \(4,\)"):
        CRF(4, bio_constraints(TAGS))
    start, transition, end = bio_constraints(TAGS)
    with pytest.raises(ValueError, match=r"constraints.transition has shape \(1, 5\); expected \(5, 5\)"):
        CRF(5, Constraints(start, transition[:1], end))
    with pytest.raises(ValueError, match=r"constraints.end is of dtype torch.int64; expected a Boolean mask"):
        CRF(5, Constraints(start, transition, end.long()))
    with pytest.raises(ValueError, match=r"constraints is a Tensor; expected strukt.nn.Constraints"):
        CRF(5, transition)


def test_the_layer_shows_tags_and_constraints_and_needs_no_values_for_it():
    assert "2 of 5 starts forbidden, 6 of 25 transitions forbidden" in repr(CRF(5, bio_constraints(TAGS)))
    with torch.device("meta"):
        assert repr(CRF(3)) == "CRF(tags=3, constraints=None)"


def test_constraints_are_saved_and_loaded():
    constrained = random_crf(5, bio_constraints(TAGS))
    loaded = CRF(5).double()
    loaded.load_state_dict(constrained.state_dict())
    emissions = torch.randn(2, 4, 5, dtype=torch.double)
    torch.testing.assert_close(loaded(emissions).log_partition, constrained(emissions).log_partition)
    assert all(map(torch.equal, loaded.constraints, bio_constraints(TAGS)))


def test_layers_share_no_constraints():
    constraints = bio_constraints(TAGS)
    one, other = CRF(5, constraints), CRF(5, constraints)
    one.load_state_dict(CRF(5).state_dict())
    assert all(map(torch.equal, other.constraints, bio_constraints(TAGS)))
    assert all(map(torch.equal, constraints, bio_constraints(TAGS)))


@pytest.mark.parametrize("nested", [False, True])
def test_weights_that_were_saved_without_constraints_are_loaded(nested):
    module = CRF(5, bio_constraints(TAGS))
    module = torch.nn.Sequential(module) if nested else module
    prefix = "0." if nested else ""
    old = {f"{prefix}{name}": torch.randn(5, 5) for name in ("transition",)}
    old |= {f"{prefix}{name}": torch.randn(5) for name in ("start", "end")}
    module.load_state_dict(old, strict=True)
    assert len(old) == 3
    crf = module[0] if nested else module
    assert torch.equal(crf.start, old[f"{prefix}start"])
    assert all(map(torch.equal, crf.constraints, bio_constraints(TAGS)))
    with pytest.raises(RuntimeError, match="Missing key"):
        module.load_state_dict({})
