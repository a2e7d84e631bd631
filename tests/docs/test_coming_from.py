"""The pages for those who come from other libraries name all that is there, and nothing of strukt that is not."""

from __future__ import annotations

import json
import pkgutil
import re
from functools import cache
from inspect import signature
from itertools import chain, pairwise, product
from pathlib import Path

import pytest
import torch

from strukt import HMM, FactorGraph, GaussianMixture, LinearChain, Poisson, nn
from strukt.distributions import StructuredDistribution
from strukt.factor_graph import factors
from strukt.inference.lp_sparsemap.admm import Solution
from strukt.losses import Options
from strukt.sklearn import ChainClassifier
from strukt.structures.hmm.results import Fit
from strukt.structures.topk import TopK

PAGES = Path(__file__).parents[2] / "docs" / "coming-from"
PEERS = json.loads((Path(__file__).parent / "exported_names.json").read_text())
"""What each library exports, and the members of its classes of structures: names only."""

SPAN = re.compile(r"`([^`]+)`")
NAME = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*")
CALL = re.compile(rf"({NAME.pattern})(?=\()")

POISSON = HMM(torch.zeros(2), torch.zeros(2, 2), Poisson(torch.ones(2)))
MIXTURE = GaussianMixture(torch.zeros(2, 1), torch.zeros(2, 1, 1), torch.ones(2, 1, 1))
HOMES = {"crf": nn.CRF(2), "graph": FactorGraph, "structure": StructuredDistribution, "hmm": POISSON}
"""Objects by the names that the tables have for them; their members may stand there alone, too."""

MEMBERS = (*HOMES.values(), POISSON.emission, MIXTURE, LinearChain, TopK, factors.Factor)
ARGUMENTS = {*signature(FactorGraph.lp_sparsemap).parameters, *Options.__annotations__}
RESULTS = {*Solution.__dataclass_fields__, *Fit._fields}
PYTORCH = {"kl_divergence", "lengths.sum", "mask.sum", "mean", "sum"}


def rows(page: str) -> list[list[str]]:
    """The cells of the rows of tables, those of their heads left out."""
    lines = (PAGES / f"{page}.md").read_text(encoding="utf-8").splitlines()
    found = [
        line for line, after in zip(lines, [*lines[1:], ""], strict=True) if not after.startswith("|---")
    ]
    return [line.strip("|").split(" | ") for line in found if re.match(r"\| (?!---)", line)]


@pytest.mark.parametrize("peer", PEERS)
def test_every_exported_name_is_on_the_page(peer):
    text = (PAGES / f"{peer}.md").read_text(encoding="utf-8")
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    said = set(chain.from_iterable(re.findall(r"\w+", span) for span in SPAN.findall(prose)))
    assert [name for name in PEERS[peer]["names"] if name not in said] == []
    assert PEERS[peer]["version"] in text


def test_every_page_has_a_list():
    assert {path.stem for path in PAGES.glob("*.md")} == set(PEERS)


def names_of(cell: str) -> list[str]:
    """What a cell of strukt's names refers to: functions that are called, and names that stand alone."""
    found = []
    for span in SPAN.findall(cell):
        if span.startswith(("strukt train ", "--", '"')):
            continue
        found += CALL.findall(span) or ([span] if NAME.fullmatch(span) else [])
    return found


@cache
def estimator() -> ChainClassifier:
    """One that is fitted, whose attributes are there."""
    return ChainClassifier().fit([[["a"]]], [["b"]])


def exists(name: str) -> bool:
    """Whether strukt has it: in a module, in a structure, graph or layer, or as an argument or a result."""
    first, _, rest = name.partition(".")
    if name in ARGUMENTS | RESULTS | PYTORCH or any(
        hasattr(home, first) for home in (*MEMBERS, estimator())
    ):
        return True
    if first in HOMES:
        return not rest or hasattr(HOMES[first], rest)
    for path in (name, f"strukt.{name}", f"strukt.sklearn.{name}"):
        try:
            pkgutil.resolve_name(path)
        except (ImportError, AttributeError):
            continue
        return True
    return False


@pytest.mark.parametrize("peer", PEERS)
def test_every_name_of_strukt_exists(peer):
    named = [name for cells in rows(peer) for name in names_of(cells[1])]
    assert named
    assert [name for name in named if not exists(name)] == []


def test_a_crf_with_weights_of_allennlp_has_its_likelihood_and_its_tags():
    """AllenNLP normalises over all sequences, and decodes those that its constraints allow."""
    torch.manual_seed(0)
    transitions, start, end = torch.randn(5, 5), torch.randn(5), torch.randn(5)
    words, lengths = torch.randn(3, 4, 5), [4, 2, 1]
    gold = torch.randint(5, (3, 4))
    constraints = nn.tag_constraints(["O", "B-PER", "I-PER", "B-LOC", "I-LOC"], "BIO")
    trainer, tagger = nn.CRF(5), nn.CRF(5, constraints)
    for crf in (trainer, tagger):
        crf.load_state_dict({"transition": transitions, "start": start, "end": end})
    likelihoods, predictions = trainer(words, lengths).log_prob(gold), tagger(words, lengths).mode

    def score(item: int, path: tuple[int, ...]) -> torch.Tensor:
        steps = sum(transitions[pair] for pair in pairwise(path))
        return start[path[0]] + steps + end[path[-1]] + words[item, range(len(path)), path].sum()

    def is_allowed(path: tuple[int, ...]) -> bool:
        inside = all(constraints.transition[pair] for pair in pairwise(path))
        return bool(constraints.start[path[0]]) and inside and bool(constraints.end[path[-1]])

    for item, n in enumerate(lengths):
        scores = {path: score(item, path) for path in product(range(5), repeat=n)}
        log_partition = torch.stack(list(scores.values())).logsumexp(0)
        torch.testing.assert_close(likelihoods[item], scores[tuple(gold[item, :n].tolist())] - log_partition)
        assert tuple(predictions[item, :n].tolist()) == max(filter(is_allowed, scores), key=scores.get)
