"""Processes side by side: a right library, a wrong one, one that raises, one that dies."""

import os
from dataclasses import replace

import pytest
import torch
from benchmarks.contest import TRAINING, Case, Contestant, Family, Loss
from benchmarks.harness import compare, exact_truth, truth
from benchmarks.measure import WrongResultError
from torch import Tensor

CASE = Case("2x3", ((2, 3),))


def right(scores: Tensor) -> Tensor:
    return scores.logsumexp(-1)


def best(scores: Tensor) -> Tensor:
    return scores.argmax(-1)


def wrong(scores: Tensor) -> Tensor:
    return scores.logsumexp(-1) + 0.01


def second_best(scores: Tensor) -> Tensor:
    return scores.argsort(-1)[:, -2]


def raising(scores: Tensor) -> Tensor:
    raise RuntimeError(f"cannot do {tuple(scores.shape)}")


def dying(scores: Tensor) -> Tensor:
    os._exit(1)


def wrong_in_float32(scores: Tensor) -> Tensor:
    return wrong(scores) if scores.dtype == torch.float32 else right(scores)


def right_loss(event: Tensor, *_: Tensor) -> Loss:
    return lambda scores: -scores.log_softmax(-1).gather(-1, event[:, None]).mean()


def wrong_loss(event: Tensor, *_: Tensor) -> Loss:
    """Its gradient is right for all but the gold choices."""
    return lambda scores: right(scores).mean() - 0.9 * scores.gather(-1, event[:, None]).mean()


def refusing_loss(event: Tensor, scores: Tensor) -> Loss:
    raise ValueError(f"cannot learn {event.tolist()} of {tuple(scores.shape)}")


def gold(scores: Tensor) -> Tensor:
    return torch.arange(len(scores))


def score(scores: Tensor, event: Tensor) -> Tensor:
    return scores.double().gather(-1, event[:, None]).squeeze(-1)


def exactly(scores: Tensor) -> tuple[Tensor, Tensor]:
    return scores.double().logsumexp(-1), scores.double().softmax(-1)


def family(*contestants: Contestant) -> Family:
    return Family(
        "choice", "Choice", (CASE,), CASE, contestants, score, exact=exactly, operations=TRAINING, gold=gold
    )


OWN = Contestant("own", right, best, learn=right_loss)


@pytest.mark.slow  # a process for each library
def test_libraries_are_timed_unless_they_are_wrong_raise_or_die() -> None:
    wrong_one = Contestant("wrong", wrong, second_best, learn=wrong_loss)
    choice = family(OWN, wrong_one, Contestant("raising", raising), Contestant("dying", dying))
    results = compare(choice, CASE, truth(choice, CASE), rounds=2, threads=1)
    measurements = {(result.contestant, result.operation): result for result in results}
    names = ("own", "wrong", "raising", "dying")
    assert set(measurements) == {(name, operation) for name in names for operation in TRAINING}
    for operation in TRAINING:
        assert measurements["own", operation].right
        assert len(measurements["own", operation].seconds) >= 2
        assert min(measurements["own", operation].seconds) > 0
        assert not measurements["wrong", operation].right
        assert not measurements["wrong", operation].seconds
    off = 0.01 / max(1.0, float(CASE.inputs()[0].double().logsumexp(-1).abs().max()))
    assert measurements["wrong", "log-partition"].error == pytest.approx(off, rel=1e-3)
    assert measurements["raising", "gradient"].failure == "RuntimeError: cannot do (2, 3)"
    assert measurements["raising", "mode"].failure == "NotImplementedError: no decoder"
    assert measurements["raising", "training step"].failure == "NotImplementedError: no loss"
    assert "process ended" in measurements["dying", "log-partition"].failure


def test_a_library_that_cannot_learn_the_gold_structures_does_all_else() -> None:
    choice, inputs = family(OWN), CASE.inputs()
    taught = choice.taught(Contestant("refusing", right, best, learn=refusing_loss), inputs)
    with pytest.raises(ValueError, match=r"cannot learn \[0, 1\] of \(2, 3\)"):
        choice.operations["training step"](taught, inputs)
    (found,) = choice.operations["log-partition"](taught, inputs)
    assert found.equal(right(*inputs))


@pytest.mark.slow  # a process
def test_nothing_is_reported_when_our_own_result_is_wrong() -> None:
    choice = family(Contestant("own", wrong_in_float32, best))
    with pytest.raises(WrongResultError, match="choice 2x3: log-partition of own is wrong"):
        compare(choice, CASE, truth(choice, CASE), rounds=1, threads=1)


def test_truth_judges_each_operation_by_its_own_measure() -> None:
    choice = family(OWN)
    inputs = CASE.inputs()
    for errors in (truth(choice, CASE), exact_truth(choice, CASE)):
        assert errors("log-partition", (right(*inputs),)) < 1e-6
        assert errors("gradient", (right(*inputs), inputs[0].softmax(-1))) < 1e-6
        assert errors("gradient", (right(*inputs), 2 * inputs[0].softmax(-1))) > 0.1
        assert errors("mode", (best(*inputs),)) == 0
        leaf = inputs[0].clone().requires_grad_()
        loss = right_loss(gold(*inputs))(leaf)
        (slope,) = torch.autograd.grad(loss, leaf)
        assert errors("training step", (loss.detach(), slope)) < 1e-6
        assert errors("training step", (2 * loss.detach(), slope)) > 0.1
        assert errors("training step", (loss.detach(), slope + 0.1)) == pytest.approx(0.2, rel=1e-3)
        assert errors("mode", (second_best(*inputs),)) > 0.01


def test_the_loss_of_given_structures_is_their_log_partition() -> None:
    choice = replace(family(OWN), gold=None)
    (scores,) = CASE.inputs()
    answer = (-right(scores).mean(), -scores.softmax(-1) / len(scores))
    assert truth(choice, CASE)("training step", answer) < 1e-6


def test_gold_structures_are_made_once_and_not_in_each_step() -> None:
    made = []

    def learn(event: Tensor, *_: Tensor) -> Loss:
        made.append(event)
        return right_loss(event)

    choice = family(OWN)
    taught = choice.taught(Contestant("own", right, best, learn=learn), CASE.inputs())
    for _ in range(3):
        choice.operations["training step"](taught, CASE.inputs())
    assert len(made) == 1
