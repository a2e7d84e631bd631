"""On a GPU, structures of middling sizes have the answers of the CPU: the same bits in every run and memory."""

import pytest
import torch
from tests.kernels.engine.gpu.device import needed
from tests.kernels.engine.gpu.middling import (
    EVENTS,
    NAMES,
    QUESTIONS,
    SEVERAL,
    SMOOTH,
    answers,
    changes,
    differences,
    middling,
    on_cpu,
    poison,
)

from strukt.kernels.engine.gpu import run

pytestmark = [pytest.mark.gpu, needed]

REPEATS = 50
EXACT = {"max_score", "mode"}
"""Questions without sums, so that the order of terms does not matter."""


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_equal_those_of_the_cpu(name, dtype):
    """In both types, to about their precision; the CPU computes in float64."""
    case = middling(name, dtype)
    there = on_cpu(case)
    tolerance = 1e-5 if dtype == torch.float32 else 1e-11
    for question, answer in SMOOTH.items():
        found, expected = answers(case, {question: answer}), {question: answer(there)}
        assert differences(found, expected, tolerance) == []


@pytest.mark.parametrize("name", NAMES)
def test_every_run_has_the_same_bits(name):
    case = middling(name)
    first = answers(case)
    for repeat in range(REPEATS):
        assert (repeat, changes(name, answers(case), first)) == (repeat, [])


@pytest.mark.parametrize("name", NAMES)
def test_memory_that_held_nan(name):
    case = middling(name)
    first = answers(case)
    for question, answer in QUESTIONS.items():
        poison()
        assert changes(name, answers(case, {question: answer}), first) == []


@pytest.mark.parametrize("warps", [1, 4, 8])
@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=() if each in ("LinearChain", "ProjectiveTree") else pytest.mark.slow)
    for each in SEVERAL]
)  # fmt: skip
def test_any_number_of_warps(name, warps, monkeypatch):
    """The order of sums in a tile depends on the warps; best structures are the same bits, and so is every run.

    One with whole tiles in the registers of few warps would compile for minutes: tiles are small here.
    """
    case = middling(name)
    chosen = {each: QUESTIONS[each] for each in ("log_partition", *sorted(EXACT))}
    usual = answers(case, chosen)
    from triton.runtime.jit import JITFunction

    launch, fitting = JITFunction.run, run.Run._fitting
    monkeypatch.setattr(JITFunction, "run", lambda *args, **more: launch(*args, **{**more, "num_warps": warps}))
    monkeypatch.setattr(
        run.Run, "_fitting", lambda self, tile: (small := fitting(self, tile))._replace(rows=min(small.rows, 16))
    )
    result = answers(case, chosen)
    assert differences({each: result[each] for each in EXACT}, usual) == []
    assert differences(result, usual, 1e-5) == []
    for repeat in range(REPEATS):
        assert (repeat, changes(name, answers(case, chosen), result)) == (repeat, [])


@pytest.mark.parametrize("name", NAMES)
def test_samples_and_modes_are_structures(name):
    case = middling(name)
    there, here = on_cpu(case).distribution(), answers(case, EVENTS)
    (mode,), (drawn,) = here["mode"], here["sample"]
    assert torch.allclose(there.score(mode.cpu()), there.max_score, rtol=1e-5, atol=1e-5)
    assert torch.isfinite(there.log_prob(drawn.cpu())).all()
