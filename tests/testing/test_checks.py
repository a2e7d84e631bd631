"""The suite is red for every kind of mistake, and says which law broke, in what, for which item."""

from dataclasses import replace

import pytest
import torch

from strukt.distributions import LinearChain
from strukt.testing import check_structure, laws
from strukt.testing.comparison import agree, demand
from strukt.testing.law import LAWS
from strukt.testing.subjects import STRUCTURES

CHAIN = next(subject for subject in STRUCTURES if subject.make is LinearChain)


class NegativeEntropy(LinearChain):
    def entropy(self):
        return -super().entropy()


class ReadsPadding(LinearChain):
    def __init__(self, unary, transition, lengths=None, validate_args=None):
        super().__init__(unary, transition, None, False)


class NotDifferentiable(LinearChain):
    @property
    def log_partition(self):
        return super().log_partition.detach()


class MarginalsWithoutDerivative(LinearChain):
    @property
    def marginals(self):
        free = self._with_scores(*(score.detach() for score in self.scores))
        return LinearChain.marginals.fget(free) + 0 * sum(
            score.nan_to_num(neginf=0).sum() for score in self.scores
        )


class GreedyMode(LinearChain):
    @property
    def mode(self):
        inside = torch.arange(self.event_shape[0]) < self.lengths[..., None]
        return torch.where(inside, self.scores[0].argmax(-1), -1)


class WritesIntoScores(LinearChain):
    @property
    def mode(self):
        best = super().mode
        self.scores[0].data.clamp_(min=-1)
        return best


class AlwaysTheMode(LinearChain):
    def sample(self, sample_shape=()):
        return self.mode.expand(*sample_shape, *self.mode.shape)


class OneDrawForTheBatch(LinearChain):
    def sample(self, sample_shape=()):
        drawn = super().sample(sample_shape)
        first = drawn[(slice(None),) * len(sample_shape) + (slice(1),) * len(self.batch_shape)]
        return torch.where(drawn < 0, -1, first.expand_as(drawn))


class SameStructureTwice(LinearChain):
    def topk(self, k):
        scores, events = super().topk(k)
        axis = len(self.batch_shape)
        return scores, events.index_select(axis, torch.arange(k).clamp(max=max(k - 2, 0)))


class FiniteInfinity(LinearChain):
    @property
    def log_partition(self):
        return super().log_partition.clamp(min=-1e5)


class DifferenceOfInfinities(LinearChain):
    def cross_entropy(self, other):
        return super().cross_entropy(other) + 0 * other.max_marginals.flatten(1).sum(1)

    def log_prob(self, value):
        return self.score(value) - self.log_partition


class SwitchesGradMode(LinearChain):
    @property
    def max_score(self):
        torch.set_grad_enabled(True)
        return super().max_score


class IgnoresForbidden(LinearChain):
    def condition(self, required=None, forbidden=None):
        return super().condition(required=required)


class AcceptsAnything(LinearChain):
    def __init__(self, unary, transition, lengths=None, validate_args=None):
        super().__init__(unary, transition, lengths, False)


class RefusesSilently(LinearChain):
    def __init__(self, unary, transition, lengths=None, validate_args=None):
        try:
            super().__init__(unary, transition, lengths, validate_args)
        except ValueError as error:
            raise ValueError("bad input") from error


MISTAKES = [
    (
        NegativeEntropy,
        "operators_agree_with_enumeration",
        r"entropy agrees .* item \(\) of batch \(\), length 4",
    ),
    (ReadsPadding, "operators_agree_with_enumeration", r"item \(0, 1\) of batch \(2, 3\), length 0"),
    (ReadsPadding, "padding_is_never_read", "ignores nan in the padding"),
    (NotDifferentiable, "derivatives_agree_with_enumeration", "log_partition: derivative 1"),
    (NotDifferentiable, "graphs_are_built_only_when_asked_for", "log_partition is differentiable"),
    (MarginalsWithoutDerivative, "derivatives_agree_with_enumeration", "marginals: derivative 1"),
    (GreedyMode, "mode_is_the_best_structure", "the score of the mode is the best score"),
    (WritesIntoScores, "inputs_are_left_alone", "mode leaves its inputs alone"),
    (AlwaysTheMode, "samples_have_the_right_frequencies", "right frequencies"),
    (AlwaysTheMode, "samples_are_reproducible", "differs from draw to draw"),
    (OneDrawForTheBatch, "samples_are_independent", "items of a batch are independent"),
    (SameStructureTwice, "topk_are_the_best_structures", "topk scores belong to their events in item"),
    (FiniteInfinity, "infeasible_item_has_weight_zero", "log_partition of an infeasible item is -inf"),
    (DifferenceOfInfinities, "infinite_divergence_has_zero_derivatives", "cross_entropy is infinite"),
    (DifferenceOfInfinities, "infinite_log_prob_has_zero_derivatives", "in the sum: derivative 1"),
    (SwitchesGradMode, "inputs_are_left_alone", "max_score leaves the grad mode alone"),
    (IgnoresForbidden, "conditions_compose_with_every_operator", "given both"),
    (AcceptsAnything, "wrong_scores_are_refused", "accepts a wrong argument.*nan"),
    (RefusesSilently, "wrong_lengths_are_refused", "'bad input' should mention .*lengths"),
]


@pytest.mark.parametrize(
    ("broken", "name", "message"), MISTAKES, ids=lambda value: getattr(value, "__name__", None)
)
def test_a_mistake_breaks_its_law(broken, name, message):
    LAWS[name].check(CHAIN)
    with pytest.raises(AssertionError, match=message):
        LAWS[name].check(replace(CHAIN, name=broken.__name__, make=broken))


def test_check_structure_reports_every_broken_law():
    tested = {
        "operators_agree_with_enumeration",
        "batch_equals_its_items",
        "conditions_compose_with_every_operator",
    }
    others = dict.fromkeys(LAWS.keys() - tested, "not the subject of this test")
    check_structure(CHAIN, others)
    with pytest.raises(AssertionError) as caught:
        check_structure(replace(CHAIN, name="Broken", make=NegativeEntropy), others)
    lines = str(caught.value).splitlines()
    assert [line.split(": ")[0] for line in lines] == [
        "conditions_compose_with_every_operator",
        "operators_agree_with_enumeration",
    ]
    assert all("Broken: entropy" in line for line in lines)


class Unfinished(LinearChain):
    def entropy(self):
        raise ZeroDivisionError("not yet")


def test_check_structure_goes_on_after_an_error_of_the_structure():
    others = dict.fromkeys(
        LAWS.keys() - {"operators_agree_with_enumeration", "batch_equals_its_items"}, "other"
    )
    with pytest.raises(AssertionError, match="ZeroDivisionError: not yet") as caught:
        check_structure(replace(CHAIN, name="Unfinished", make=Unfinished), others)
    assert len(str(caught.value).splitlines()) == 2


def test_laws_about_what_a_structure_lacks_are_left_out():
    names = {law.name for law in laws(replace(CHAIN, lacks=frozenset({"sample"})))}
    assert "samples_are_independent" not in names
    assert "operators_agree_with_enumeration" in names


def test_agree_finds_the_item_and_the_shape():
    case = CHAIN.case((2,), lengths=[3, 1])
    agree(case, "numbers", torch.tensor([1.0, -torch.inf]), torch.tensor([1.0, -torch.inf]))
    with pytest.raises(
        AssertionError, match=r"numbers: item \(1,\) of batch \(2,\), length 1, gives nan, .* 2"
    ):
        agree(case, "numbers", torch.tensor([1.0, torch.nan]), torch.tensor([1.0, 2.0]))
    with pytest.raises(AssertionError, match=r"the shape is \(1,\), it should be \(2,\)"):
        agree(case, "numbers", torch.tensor([1.0]), torch.tensor([1.0, 2.0]))


def test_demand_raises_unless_what_it_demands_holds():
    demand(True, CHAIN.case(), "fine")
    with pytest.raises(AssertionError, match="shared transition: wanted"):
        demand(torch.tensor(False), CHAIN.case(), "wanted")
