"""SparseMAP in rounds of dense tensors has the results of the kernels for CPUs, item by item and in batches.

The mode oracle is that of the CPU here, so that sizes are not small; `tests/kernels/engine/gpu` asks that of GPUs.
"""

import pytest
import torch

from strukt import (
    LexicalisedTree,
    LinearChain,
    NonProjectiveTree,
    ProjectiveTree,
    SecondOrderTree,
    SemiMarkov,
    SpanTree,
)
from strukt.inference.sparsemap import MAX_ITERATIONS, TOL, chosen, cut, solution
from strukt.kernels.sparsemap.dense import active_set, completion, rounds
from strukt.kernels.sparsemap.dense.state import DenseSets
from strukt.kernels.sparsemap.result import Settings
from strukt.kernels.sparsemap.state import INFEASIBLE, STOPPED
from strukt.structures import sparse

LENGTHS = torch.tensor([6, 5, 3, 1, 0])


def search(structure, max_calls=MAX_ITERATIONS, start=None):
    """The active sets of a batch and their events, by rounds that call the mode oracle of the structure."""
    main, *others = structure.scores
    begun = None if start is None else (start.events, start.weights)
    begin = sparse._start(structure, structure._most_parts, begun)

    def best(scores):
        return structure.oracles.best(*structure._with_scores(scores, *others)._arguments())

    extra = structure._with_scores(torch.zeros_like(main), *others)._score
    with torch.no_grad():
        found, answers = rounds.solve(
            main, structure._most_parts, begin, Settings(max_calls, TOL), best, structure.to_parts, extra
        )
    return cut(found), chosen(answers, None if start is None else start.events, cut(found))


def solve(structure, **options):
    """The result of `search`, as `sparsemap` returns it."""
    structure = structure._in_double_precision()
    return solution(structure.scores[0], *search(structure, **options), structure._score)


def normal(*shape):
    return torch.randn(*shape, dtype=torch.float64)


KINDS = {
    "ProjectiveTree": lambda n, *batch: (normal(*batch, n, n + 1),),
    "NonProjectiveTree": lambda n, *batch: (normal(*batch, n, n + 1),),
    "SpanTree": lambda n, *batch: (normal(*batch, n + 1, n + 1, 2),),
    "SemiMarkov": lambda n, *batch: (normal(*batch, n, 3, 2), normal(2, 2)),
    "LinearChain": lambda n, *batch: (normal(*batch, n, 4), normal(4, 4)),
    "SecondOrderTree": lambda n, *batch: (normal(*batch, n, n + 1), normal(*batch, n, n, n + 1)),
    "LexicalisedTree": lambda n, *batch: (normal(*batch, n + 1, n + 1, n), normal(*batch, n, n + 1)),
}
"""Functions of a number of positions and a batch shape to the scores of a structure."""

MAKE = {
    kind.__name__: kind
    for kind in (
        LexicalisedTree, LinearChain, NonProjectiveTree, ProjectiveTree, SecondOrderTree, SemiMarkov, SpanTree,
    )
}  # fmt: skip

of_every_kind = pytest.mark.parametrize("kind", KINDS)
of_some = pytest.mark.parametrize("kind", ["LinearChain", "ProjectiveTree", "SpanTree"])


def structure_of(kind, scores):
    return MAKE[kind](*scores, lengths=LENGTHS, validate_args=False)


def agree(found, expected, tolerance=1e-11):
    torch.testing.assert_close(found.marginals, expected.marginals, atol=tolerance, rtol=0)
    assert torch.equal(found.status, expected.status)
    support = (found.weights > 1e-9).sum(-1)
    assert (support >= 1).all()
    torch.testing.assert_close(found.weights.sum(-1), torch.ones_like(found.weights[..., 0]))


@pytest.mark.parametrize("scale", [0.2, 3.0])
@of_every_kind
def test_items_of_all_lengths_have_the_marginals_of_the_cpu(kind, scale):
    """They converge in different rounds; an item of length 0 has one empty structure."""
    main, *others = KINDS[kind](6, len(LENGTHS))
    structure = structure_of(kind, (scale * main, *others))
    found = solve(structure)
    agree(found, structure.sparsemap())
    assert len(set(found.iterations.tolist())) > 1
    parts = structure.to_parts(found.events.movedim(1, 0)).flatten(2)
    mixed = (found.weights.T.unsqueeze(-1) * parts).sum(0)
    torch.testing.assert_close(mixed.reshape(found.marginals.shape), found.marginals)


@of_some
def test_a_batch_has_the_results_of_its_items(kind):
    scores = KINDS[kind](6, len(LENGTHS))
    together = solve(structure_of(kind, scores))
    for item, length in enumerate(LENGTHS):
        each = [score[item : item + 1] if len(score) == len(LENGTHS) else score for score in scores]
        alone = solve(MAKE[kind](*each, lengths=length[None]))
        torch.testing.assert_close(together.marginals[item], alone.marginals[0], atol=1e-12, rtol=0)
        assert together.iterations[item] == alone.iterations[0]


@of_every_kind
def test_derivatives_are_those_of_the_cpu(kind):
    scores = [score.requires_grad_() for score in KINDS[kind](5, len(LENGTHS))]
    structure = MAKE[kind](*scores, lengths=LENGTHS.clamp(max=5))
    cotangent = torch.randn_like(structure.scores[0])

    def derivatives(result):
        loss = (result.marginals.square() * cotangent).sum()
        grads = torch.autograd.grad(loss, scores, create_graph=True)
        return *grads, *torch.autograd.grad(sum(grad.square().sum() for grad in grads), scores)

    for mine, right in zip(derivatives(solve(structure)), derivatives(structure.sparsemap()), strict=True):
        torch.testing.assert_close(mine, right, atol=1e-9, rtol=1e-9)


@of_some
def test_forbidden_parts_and_nan_in_the_padding(kind):
    main, *others = KINDS[kind](6, len(LENGTHS))
    expected = structure_of(kind, (main.masked_fill(torch.rand(main.shape) < 0.15, -torch.inf), *others))
    allowed = expected._best()[1] > -torch.inf
    main = torch.where(allowed.reshape(-1, *(1,) * (main.dim() - 1)), expected.scores[0], main)
    expected = structure_of(kind, (main, *others))
    padded = torch.where(expected._parts_within, main, torch.nan)
    assert padded.isnan().any()
    found = solve(MAKE[kind](padded, *others, lengths=LENGTHS, validate_args=False))
    agree(found, expected.sparsemap())
    assert (found.marginals[main == -torch.inf] == 0).all()


@pytest.mark.parametrize("scale", [0.0, 0.7, 1e-9, 1e6, 1e8])
@of_some
def test_ties_end_at_the_point_and_the_derivative_of_the_cpu(kind, scale):
    """Equal scores, also huge ones: the face is complete, so that derivatives are equal."""
    main, *others = KINDS[kind](6, len(LENGTHS))
    main = (scale * main.round().clamp(-1, 1)).requires_grad_()
    structure = structure_of(kind, (main, *(torch.zeros_like(other) for other in others)))
    found, expected = solve(structure), structure.sparsemap()
    agree(found, expected, 1e-9)
    factors = torch.randn_like(main)
    mine, right = (torch.autograd.grad(each.marginals, main, factors)[0] for each in (found, expected))
    torch.testing.assert_close(mine, right, atol=1e-8, rtol=1e-8)


def test_many_structures():
    """Rounding errors of structures that enter and leave do not add up; the capacity grows three times."""
    structure = NonProjectiveTree(0.1 * normal(2, 14, 15), torch.tensor([14, 9]))
    found = solve(structure)
    assert found.weights.shape[1] > 64
    agree(found, structure.sparsemap())


@of_some
@pytest.mark.parametrize("calls", [1, 4])
def test_a_bound_on_calls_is_kept(kind, calls):
    structure = structure_of(kind, KINDS[kind](6, len(LENGTHS)))
    (found, _), expected = search(structure, max_calls=calls), structure.sparsemap(max_iterations=calls)
    assert found.calls.tolist() == expected.iterations.tolist()
    assert (found.phases == STOPPED).tolist() == (~expected.status).tolist()
    agree(solve(structure, max_calls=calls), expected)


@of_some
def test_a_warm_start_leads_to_the_same_point_in_fewer_calls(kind):
    main, *others = KINDS[kind](6, len(LENGTHS))
    cold = structure_of(kind, (main, *others)).sparsemap()
    moved = structure_of(kind, (main + 1e-3 * torch.randn_like(main), *others))
    warm, again = solve(moved, start=cold), solve(moved)
    agree(warm, again)
    assert warm.iterations.sum() < again.iterations.sum()
    assert warm.iterations.tolist() == moved.sparsemap(start=cold).iterations.tolist()


def test_a_start_that_is_forbidden_now_is_left_out():
    arcs = normal(2, 4, 5)
    cold = ProjectiveTree(arcs).sparsemap()
    forbidden = ProjectiveTree(
        arcs.masked_fill(cold.marginals == cold.marginals.amax(-1, True)[:, :1], -torch.inf)
    )
    agree(solve(forbidden, start=cold), forbidden.sparsemap())


@pytest.mark.parametrize("every", [1, 7])
def test_it_does_not_matter_when_the_host_looks(monkeypatch, every):
    structure = structure_of("ProjectiveTree", KINDS["ProjectiveTree"](6, len(LENGTHS)))
    usual = solve(structure)
    monkeypatch.setattr(rounds, "ROUNDS", every)
    found = solve(structure)
    assert torch.equal(found.iterations, usual.iterations)
    torch.testing.assert_close(found.marginals, usual.marginals, atol=1e-13, rtol=0)


def test_items_without_a_structure_are_infeasible():
    arcs = normal(3, 4, 5)
    arcs[1, 2] = -torch.inf
    found, _ = search(ProjectiveTree(arcs, labelled=False))
    assert (found.phases == INFEASIBLE).tolist() == [False, True, False]
    alone, _ = search(ProjectiveTree(arcs[[0, 2]], labelled=False))
    assert found.calls[[0, 2]].tolist() == alone.calls.tolist()


def test_all_tensors_are_made_on_the_device_of_the_scores():
    """Tensors without memory stand for those on a GPU: mixed with tensors on the CPU, they raise an error."""
    main, settings = torch.empty(3, 5, dtype=torch.float64, device="meta"), Settings(MAX_ITERATIONS, TOL)
    sets = DenseSets(main, 4)
    new = sets.structures(main > 0, main.new_empty(3), main.new_empty(3) > 0, 0)
    active_set.begin(sets, [new], main.new_empty(3, 1))
    for phase in (active_set, completion):
        phase.advance(sets, new, settings)
        assert phase.is_open(sets).is_meta
    completion.begin(sets, settings)
    sets.enlarge(8)
    assert sets.query.is_meta
