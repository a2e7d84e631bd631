"""On a GPU, kernels never wait for the host, and work in graphs, streams, long runs and on every device."""

import contextlib
import gc
from dataclasses import replace

import pytest
import torch
from tests.kernels.engine.gpu.device import needed
from tests.kernels.engine.gpu.middling import (
    KERNELS,
    NAMES,
    QUESTIONS,
    SEVERAL,
    SMOOTH,
    answers,
    changes,
    differences,
    gradient,
    log_prob,
    middling,
)

import strukt
from strukt.distributions import PCFG, LinearChain, SpanningTree
from strukt.kernels import constants
from strukt.kernels.constants import constant

pytestmark = [pytest.mark.gpu, needed]

TRAINING = {"log_partition", "marginals", "entropy"}

WAITING = {("PCFG", "entropy"), ("SpanningTree", "max_marginals")}
"""What the CPU may have to compute, which it has to ask the device, or computes always."""


def event_of(case):
    """A structure of each item."""
    with torch.no_grad():
        return case.distribution(validate_args=False).mode


@pytest.mark.parametrize("has_lengths", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_the_host_never_waits(name, has_lengths, refuse_to_wait):
    """With ``validate_args=False``, after a first call that makes the tables.

    Modes and samples wait: they raise an error if there is none.
    """
    case = middling(name)
    if not has_lengths:
        case = replace(case, lengths=None)
    event = event_of(case)
    log_prob(case, event)
    asked = {
        each: answer
        for each, answer in SMOOTH.items()
        if each != "max_score" and (name, each) not in WAITING
    }
    answers(case, asked)
    waiting = []
    refuse_to_wait()
    for question, answer in {**asked, "log_prob": lambda case: log_prob(case, event)}.items():
        try:
            answers(case, {question: answer})
        except RuntimeError as error:
            waiting.append(f"{question}: {error}")
    assert waiting == []


def test_lengths_of_the_host_are_not_waited_for(refuse_to_wait):
    """A list, and a tensor as packed sequences have it."""
    unary, transition = torch.randn(3, 5, 4, device="cuda"), torch.randn(4, 4, device="cuda")

    def log_partitions():
        given = ([5, 2, 0], torch.tensor([5, 2, 0]))
        return [LinearChain(unary, transition, each, validate_args=False).log_partition for each in given]

    log_partitions()
    refuse_to_wait()
    of_list, of_tensor = log_partitions()
    torch.cuda.set_sync_debug_mode("default")
    assert torch.equal(of_list, of_tensor)
    assert of_list[2] == 0


def capture(function):
    """A graph of a function's launches, and what it returned."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            function()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        return graph, function()


@pytest.mark.parametrize("name", [*SEVERAL, *KERNELS])
def test_a_graph_is_replayed_with_other_scores(name):
    """A training step and the gradients of other questions, captured once."""
    case, other = middling(name), middling(name, seed=1)
    event = event_of(case)
    asked = [each for each in TRAINING if (name, each) not in WAITING]

    def steps(case):
        return {"log_prob": log_prob(case, event), **{each: QUESTIONS[each](case) for each in asked}}

    expected = steps(other)
    graph, captured = capture(lambda: steps(case))
    for score, theirs in zip(case.scores, other.scores, strict=True):
        score.detach().copy_(theirs.detach())
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()
    assert changes(name, captured, expected) == []


def of_a_long_chain(unary, transition):
    """Answers of scans: a log-partition, an entropy, and the gradients of both and of marginals."""
    chain = LinearChain(unary, transition, validate_args=False)
    log_partition, marginals, entropy = chain.log_partition, chain.marginals, chain.entropy()
    asked = log_partition.sum(), marginals.square().sum(), entropy.sum()
    return [log_partition, entropy, *(each for one in asked for each in gradient(one, (unary, transition)))]


def scores_of_a_long_chain():
    return [torch.randn(*shape, device="cuda", requires_grad=True) for shape in ((2, 1025, 5), (5, 5))]


def test_the_host_does_not_wait_for_scans(refuse_to_wait):
    scores = scores_of_a_long_chain()
    of_a_long_chain(*scores)
    refuse_to_wait()
    of_a_long_chain(*scores)


def test_a_number_that_is_not_kept_is_not_waited_for(refuse_to_wait, monkeypatch):
    monkeypatch.setattr(constants, "MOST", 0)
    refuse_to_wait()
    assert constant(1.0625, torch.device("cuda")).is_cuda


WITH_NAN = {
    "chain": lambda nan: LinearChain(nan(2, 9, 5), nan(5, 5), validate_args=False),
    "long chain": lambda nan: LinearChain(nan(2, 1025, 5), nan(5, 5), validate_args=False),
    "spanning tree": lambda nan: SpanningTree(nan(2, 9, 9), validate_args=False),
    "grammar": lambda nan: PCFG(nan(3), nan(3, 7, 7), nan(9, 4), validate_args=False),
}


@pytest.mark.parametrize("name", list(WITH_NAN))
def test_no_kernel_leaves_its_memory_because_of_nan(name):

    def nan(*shape):
        scores = torch.randn(shape, device="cuda")
        return torch.where(torch.rand(shape, device="cuda") < 0.5, torch.nan, scores)

    for _ in range(20):
        with contextlib.suppress(strukt.InfeasibleError):
            _ = WITH_NAN[name](nan).mode
    torch.cuda.synchronize()


def test_scans_are_replayed_with_other_scores():
    scores, others = scores_of_a_long_chain(), scores_of_a_long_chain()
    expected = of_a_long_chain(*others)
    graph, captured = capture(lambda: of_a_long_chain(*scores))
    for score, theirs in zip(scores, others, strict=True):
        score.detach().copy_(theirs.detach())
    graph.replay()
    torch.cuda.synchronize()
    assert all(map(torch.equal, captured, expected))


@pytest.mark.parametrize("name", [*SEVERAL, *KERNELS])
def test_two_streams_at_once(name):
    cases = [middling(name, seed=seed) for seed in range(2)]
    expected = [answers(case, {each: QUESTIONS[each] for each in TRAINING}) for case in cases]
    streams = [torch.cuda.Stream() for _ in cases]
    torch.cuda.synchronize()
    found = [[], []]
    for _ in range(10):
        for case, stream, results in zip(cases, streams, found, strict=True):
            with torch.cuda.stream(stream):
                results.append({each: QUESTIONS[each](case) for each in TRAINING})
    torch.cuda.synchronize()
    for results, right in zip(found, expected, strict=True):
        assert [changes(name, result, right) for result in results] == [[]] * 10


@pytest.mark.parametrize("calls", [1_000, pytest.param(10_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["LinearChain", "ProjectiveTree"])
def test_memory_does_not_grow(name, calls):
    case = middling(name)
    event, sizes = event_of(case), []
    for count in (10, calls):
        for _ in range(count):
            log_prob(case, event)
        QUESTIONS["sample"](case)
        gc.collect()
        torch.cuda.synchronize()
        sizes.append((torch.cuda.memory_allocated(), torch.cuda.memory_reserved()))
    assert sizes[1] == sizes[0]


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs a second GPU")
@pytest.mark.parametrize("name", [*SEVERAL, *KERNELS])
def test_the_second_of_two_devices(name):
    """While the first is the current one."""
    case = middling(name)
    moved = case.map(lambda score: score.detach().to("cuda:1").requires_grad_())
    there = replace(moved, lengths=case.lengths.to("cuda:1"))
    chosen = {each: answer for each, answer in QUESTIONS.items() if each != "sample"}
    assert differences(answers(there, chosen), answers(case, chosen)) == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of PyTorch about itself
@pytest.mark.parametrize("name", SEVERAL)
def test_a_loss_that_inductor_compiles(name):
    case = middling(name)
    event = event_of(case)

    def loss(*scores):
        distribution = case.with_scores(scores).distribution(validate_args=False)
        return distribution.log_prob(event), distribution.entropy()

    def values(function):
        log_prob, entropy = function(*case.scores)
        return {"loss": [log_prob, entropy, *gradient(log_prob + entropy, case.scores)]}

    compiled = torch.compile(loss, backend="inductor")
    assert differences(values(compiled), values(loss), 1e-5) == []
