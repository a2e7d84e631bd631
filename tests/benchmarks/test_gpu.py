"""What the benchmark of GPUs does where there is none: its cases, its cells, its models, and its refusals."""

import math
import signal
import time
from dataclasses import replace

import pytest
import torch
from benchmarks.gpu import clock, compiled, mean_field, report, share, steps
from benchmarks.gpu.cases import FAMILIES, on_device
from benchmarks.gpu.clock import Budget, Measured

from benchmarks import contest, run
from strukt.cli.main import main


def test_families_and_tables_are_chosen_in_their_order():
    assert report.chosen([])[:2] == ["chain", "semi-markov"]
    assert report.chosen(["share", "ctc", "chain"]) == ["chain", "ctc", "share"]
    with pytest.raises(ValueError, match="unknown cahin; expected some of chain, semi-markov"):
        report.chosen(["cahin"])


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_there_is_one_line(capsys):
    assert main(["benchmark", "gpu", "--only", "ctc"]) == 2
    assert "PyTorch sees no GPU" in capsys.readouterr().err


def test_the_best_peer_stands_first():
    peers = [("slow", Measured(0.3, 0)), ("huge", "out of memory"), ("fast", Measured(0.02, 0)), ("none", "Error")]
    cells = steps.beside(Measured(0.01, 0), peers, others=True)
    assert cells == ["10.0 ms", "20.0 ms (fast)", "2.0", "slow 300 ms, huge: out of memory"]
    assert steps.beside("RuntimeError", [], others=False) == ["RuntimeError", "-", ""]
    assert steps.beside("NotImplementedError", peers[:1], others=False) == ["-", "300 ms (slow)", ""]
    more = ["case", "mode", "best peer", "times", "MiB", "launches", "on the device", "of the roofline"]
    assert len(steps.HEADER) == len([*cells, *more])


@pytest.fixture
def pretended(monkeypatch):
    """The CPU in the place of a GPU: nothing to wait for, no memory to count, few bytes and barriers."""
    for name in ("synchronize", "empty_cache", "reset_peak_memory_stats"):
        monkeypatch.setattr(torch.cuda, name, lambda: None)
    for name in ("memory_allocated", "max_memory_allocated"):
        monkeypatch.setattr(torch.cuda, name, lambda: 0)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "pretended GPU")
    monkeypatch.setattr(clock.bandwidth, "__defaults__", (1 << 10,))
    monkeypatch.setattr(clock.barriers, "__defaults__", (2, 1))
    monkeypatch.setattr(clock, "SLICE", 0.0)
    small = [replace(family, cases=(family.warm_up,)) for family in FAMILIES[:2]]
    monkeypatch.setattr(report, "FAMILIES", small)


def test_without_any_peer_every_table_is_measured(pretended, monkeypatch):
    """As on the device, but for times and launches, in the cases that make libraries load."""
    monkeypatch.setitem(report.TABLES, "share", ("Two:", ("a",), lambda *_: iter([["1"], ["2"]])))
    *_, page = report.pages(["chain", "semi-markov", "share"], Budget(3600), "cpu")
    assert "pretended GPU" in page
    assert "| chain 2x4x3 " in page
    assert "| semi-markov 2x5, segments up to 3, 2 labels " in page
    assert page.endswith("Two:\n\n| a |\n|---|\n| 1 |\n| 2 |")
    row = next(line for line in page.splitlines() if "chain 2x4x3" in line).split("|")
    assert row[2].strip().endswith("ms")
    assert "Error" not in page


def test_an_interrupted_page_holds_what_was_measured(pretended, monkeypatch, tmp_path):
    def rows(*_):
        yield ["measured"]
        raise KeyboardInterrupt

    monkeypatch.setitem(report.TABLES, "share", ("Title:", ("a",), rows))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    pages = report.pages
    monkeypatch.setattr(report, "pages", lambda wanted, budget, _: pages(wanted, budget, "cpu"))
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- gpu: begin -->\nold\n<!-- gpu: end -->\nafter\n")
    with pytest.raises(KeyboardInterrupt):
        report.report(["share"], 10, str(page))
    text = page.read_text()
    assert "| measured |" in text
    assert "old" not in text
    assert text.startswith("before\n")
    assert text.endswith("after\n")


def test_a_table_that_fails_does_not_end_the_others(pretended, monkeypatch):
    def failing(*_):
        yield ["1"]
        raise RuntimeError

    monkeypatch.setitem(report.TABLES, "operators", ("One:", ("a",), failing))
    monkeypatch.setitem(report.TABLES, "share", ("Two:", ("a",), lambda *_: iter([["2"]])))
    *_, page = report.pages(["operators", "share"], Budget(10), "cpu")
    assert page.endswith("| 1 |\n\n(ended by RuntimeError)\n\nTwo:\n\n| a |\n|---|\n| 2 |")


def test_strukt_is_measured_in_all_cases_before_its_peers(pretended, monkeypatch):
    """So that time ends for these first."""
    family = replace(FAMILIES[0], cases=(FAMILIES[0].warm_up, FAMILIES[0].cases[-5]))
    peer = replace(family.contestants[0], name="peer")
    family = replace(family, contestants=(family.contestants[0], peer))
    rows = list(steps.lines(family, "cpu", Budget(3600), 1e12, steps.told))
    assert [row[0] for row in rows] == 2 * [f"chain {case.name}" for case in family.cases]
    assert [row[2] for row in rows[:2]] == ["-", "-"]
    assert all(row[2].endswith("ms (peer)") and row[6].endswith("ms (peer)") for row in rows[2:])
    assert [row[1] for row in rows[:2]] == [row[1] for row in rows[2:]]
    spent = list(steps.lines(family, "cpu", Budget(0), 1e12, steps.told))
    assert [row[1] for row in spent] == ["no time left"] * 2
    budget = Budget(3600)
    lines = steps.lines(family, "cpu", budget, 1e12, steps.told)
    first, _ = next(lines), next(lines)
    budget._end = 0.0
    assert next(lines) == [*first[:4], "peers: no time left", *first[5:]]


def test_a_case_that_fails_has_the_reason_in_its_row(pretended, monkeypatch):
    def failing(*_):
        raise ZeroDivisionError

    monkeypatch.setattr(steps, "on_device", failing)
    (row,) = steps.lines(report.FAMILIES[0], "cpu", Budget(10), 1e12, steps.told)
    assert row[:2] == ["chain 2x4x3", "ZeroDivisionError"]


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="no signals of timers")
def test_an_action_ends_when_its_time_does(pretended):
    def forever():
        while True:
            time.sleep(0.001)

    assert clock.attempt(forever, Budget(60), 0.05) == clock.TOO_LONG
    assert clock.attempt(forever, Budget(0.05)) == clock.NO_TIME
    assert isinstance(clock.attempt(lambda: None, Budget(60), 0.05), Measured)
    time.sleep(0.06)  # no alarm is left


def test_no_part_of_a_budget_takes_all():
    budget = Budget(100)
    assert budget.share(1).left == pytest.approx(100, abs=1)
    assert budget.share(3).left == pytest.approx(50, abs=1)
    assert budget.share(19).left == pytest.approx(10, abs=1)


def test_the_cases_of_the_cpu_are_measured_too():
    named = {family.name: {case.name for case in family.cases} for family in FAMILIES}
    for family in (*run.GROUPS["exact"], *run.GROUPS["sparse"][:2]):
        assert {case.name for case in family.cases} < named[family.name]


@pytest.mark.slow
def test_mean_field_attention_beside_a_transformer(pretended):
    (row,) = mean_field.lines("cpu", Budget(60), steps.told, (mean_field.mean_field.FAMILY.warm_up,))
    assert len(row) == len(mean_field.HEADER)
    assert all(cell.endswith("ms") for cell in row[1:]), row


@pytest.mark.slow  # compiles references
@pytest.mark.filterwarnings("ignore")  # of PyTorch about itself
@pytest.mark.parametrize(("name", "build", "case"), compiled.CASES)
def test_compiled_references_have_the_same_gradient(name, build, case):
    inputs = tuple(value.requires_grad_() for value in on_device(case, "cpu"))
    grads = [action() for action in compiled.actions(build, inputs, "aot_eager")]
    for each in grads[1:]:
        assert all(map(torch.allclose, each, grads[0]))


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_strukt_answers_in_every_family(family):
    """Small inputs in the place of the cases: the loss has a finite gradient in each."""
    small = family.warm_up
    inputs = on_device(small, "cpu")
    own, *_ = steps.contestants(family, inputs)
    assert own.name == "strukt"
    for operation in steps.operations(family):
        if operation is contest.mode and own.mode is None:
            continue
        for answer in operation(own, inputs):
            assert torch.isfinite(answer).all()
    assert max(math.prod(shape) for case in family.cases for shape in case.shapes) > 1e5


@pytest.mark.slow
def test_the_default_models_are_trained_on_both_devices(pretended, monkeypatch):
    assert [sum(map(len, corpus)) for _, _, corpus in share.models()] == [2500] * 4
    monkeypatch.setattr(share, "SENTENCES", 4)
    rows = list(share.lines("cpu", Budget(3600), steps.told))
    assert [row[0].split(",")[0] for row in rows] == ["tag", "dependency", "constituency", "lm"]
    for row in rows:
        assert len(row) == len(share.HEADER)
        assert row[1].endswith("ms")
        assert float(row[4].replace(",", "")) > 0 < float(row[5].replace(",", ""))
    assert all(row[3].endswith("%") for row in rows[:2])
