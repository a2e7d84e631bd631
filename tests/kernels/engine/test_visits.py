"""Every visit of a table, in both kinds of numbers, against the structures that its rows spell out."""

import itertools
import math
from functools import cache

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from strukt.kernels import dispatch
from strukt.kernels.engine import array_cache, chosen, items, rings, rows
from strukt.kernels.engine.backend import Backend
from strukt.kernels.engine.program import COUNT, EACH, LEFT, MIRROR, OUT, RIGHT, WEIGHT, ProgramBuilder
from strukt.kernels.engine.tables import Tables
from strukt.structures.ctc import forward as ctc
from strukt.structures.lexicalised_tree import eisner_satta as lexicalised
from strukt.structures.linear_chain import forward as chain
from strukt.structures.monotone_alignment import gotoh as alignment
from strukt.structures.projective_tree import eisner
from strukt.structures.second_order_tree import second_order_eisner as second_order
from strukt.structures.semi_markov import forward as semi_markov
from strukt.structures.span_tree import cky as spans

pytestmark = pytest.mark.skipif(
    dispatch.backends()["cpu"] != "available", reason=f"no compiled kernels: {dispatch.backends()['cpu']}"
)


def every_kind_of_row(_n):
    """One of four numbers from each of four rows, by sums with every combination of factors."""
    p = ProgramBuilder()
    weight = p.weights(np.ones((4, 4), bool))
    ones, a, copy, b, c, twice, total = (p.cells(4) for _ in range(7))
    p.leaf(ones)
    p.sum(a, ones, weight=weight[0], mirror=copy, stage=0)
    p.sum(b[:2], a[0], ones[0], count=4, each=weight[1, 0], stage=1)
    p.sum(b[2:], copy[[0, 2]], count=2, each=weight[1, [0, 2]], stage=1)
    p.sum(c, b[0], ones[0], count=[4, 3, 2, 1], weight=weight[3], stage=2)
    p.sum(twice[:2], c[:2], ones[:2], each=weight[2, :2], stage=3)
    p.sum(twice[2:], c[2:], weight=weight[2, 2:], stage=3)
    p.sum(total[0], twice[0], ones[0], count=4, stage=4)
    return p.build(total[0])


PROGRAMS = {
    "every kind of row": (every_kind_of_row, 1, (), (4, 4), (1, 1)),
    "every kind of row, labels": (every_kind_of_row, 1, (), (4, 4), (1, 2)),
    **{
        f"eisner of {n}, {'single' if root else 'any'} root": (eisner.build, n, (root,), (n, n + 1), (1, 1))
        for n in range(1, 5)
        for root in (True, False)
    },
    "eisner of 3, labels": (eisner.build, 3, (True,), (3, 4), (1, 2)),
    **{f"spans of {n}": (spans.build, n, (), (n + 1, n + 1), (1, 1)) for n in range(1, 6)},
    "spans of 3, labels": (spans.build, 3, (), (4, 4), (1, 3)),
    "spans of 2, bits": (spans.build, 2, (), (3, 3), (2, 2)),
    "spans of 2, features": (spans.build, 2, (), (3, 3), (2, 3)),
    **{
        f"siblings of {n}, {'single' if root else 'any'} root": (
            second_order.build, n, (root, (4, 5), (4, 4, 5)), (100,), (1, 1)
        )
        for n in range(1, 5)
        for root in (True, False)
    },
    **{
        f"heads of spans of {n}": (lexicalised.build, n, ((4, 4, 3), (3, 4)), (60,), (1, 1))
        for n in (1, 2, 3)
    },
    "tags of 3": (chain.build, 3, ((4, 2), (1, 2, 2)), (12,), (1, 1)),
    "tags of 3, pairs at each step": (chain.build, 3, ((3, 3), (2, 3, 3)), (27,), (1, 1)),
    "tags of 1": (chain.build, 1, ((1, 2), (1, 2, 2)), (6,), (1, 1)),
    "segments of 3": (semi_markov.build, 3, ((4, 2, 2), (2, 2)), (20,), (1, 1)),
    "segments of 4, pairs at each boundary": (semi_markov.build, 4, ((4, 3, 2), (3, 2, 2)), (36,), (1, 1)),
    "segments of 3, one score for all pairs": (semi_markov.build, 3, ((3, 2, 3), (1, 1)), (19,), (1, 1)),
    "segments of 1": (semi_markov.build, 1, ((1, 2, 2), (0, 2, 2)), (4,), (1, 1)),
    "paths of 3 x 2": (alignment.build, 3, (2, (3, 3, 3), (3, 3)), (36,), (1, 1)),
    "paths of 1 x 3": (alignment.build, 1, (3, (1, 3, 3), (3, 3)), (18,), (1, 1)),
    "frames of 4, 2 labels": (ctc.build, 4, (2, 7), (36,), (1, 1)),
    "frames of 2, no labels": (ctc.build, 2, (0, 1), (4,), (1, 1)),
}


@cache
def table_and_structures(name):
    """The table, the parts of each structure from a walk of the rows in plain Python, and the axes of scores."""
    build, n, options, shape, (features, values) = PROGRAMS[name]
    program, table = build(n, *options), Tables(build).get(n, options, shape)

    @cache
    def below(cell):
        if program.maker[cell] < 0:
            return [()] if cell in program.leaves else []
        row, found = program.rows[program.maker[cell]], []
        for k in range(row[COUNT]):
            parts = [below(row[LEFT] + k)]
            if row[RIGHT] >= 0:
                parts.append(below(row[RIGHT] + k))
            own = [row[WEIGHT]] * int(row[WEIGHT] >= 0) + [row[EACH] + k] * int(row[EACH] >= 0)
            found += [sum(each, tuple(own)) for each in itertools.product(*parts)]
        return found

    def parts(place):
        """All choices of a value for each feature of a weight."""
        first = features * values * place
        return itertools.product(*(range(first + values * f, first + values * (f + 1)) for f in range(features)))

    structures = [
        sum(chosen, ())
        for used in below(program.top)
        for chosen in itertools.product(*(parts(table.places[weight]) for weight in used))
    ]
    axes = (int(np.prod(shape)), features, values)
    used = np.zeros((len(structures), int(np.prod(axes))))
    for row, each in zip(used, structures, strict=True):
        np.add.at(row, list(each), 1)
    return table, torch.from_numpy(used), axes


@pytest.fixture(params=list(PROGRAMS))
def problem(request):
    """A table, the parts of its structures, and scores of two items, some of them forbidden."""
    table, used, axes = table_and_structures(request.param)
    scores = torch.randn(2, used.shape[1], generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    scores[1, :: used.shape[1] // 2] = -torch.inf
    return table, used, scores.reshape(2, *axes)


RINGS = pytest.mark.parametrize("ring", [None, np.empty(0, np.int64)], ids=["plain", "extended"])
BOTH = np.arange(2)


def totals_of(used, scores):
    """Scores of all structures of each item."""
    scores = scores.flatten(1)
    kept = torch.where(scores.isinf(), 0.0, scores) @ used.T
    return torch.where((scores.isinf().double() @ used.T) > 0, -torch.inf, kept)


def possible(used, scores):
    return totals_of(used, scores).isfinite().any(-1).numpy()


def inside(table, ring, scores):
    chart, log_partition = np.empty((2, items.HEAD + len(table.maker) + len(table.places))), np.empty(2)
    items.totals(table, BOTH, ring, scores.numpy(), chart, log_partition)
    return chart, torch.from_numpy(log_partition)


@RINGS
def test_sums(problem, ring):
    table, used, scores = problem
    chart, log_partition = inside(table, ring, scores)
    assert torch.allclose(log_partition, totals_of(used, scores).logsumexp(-1), rtol=1e-12)
    # Probabilities cannot tell an impossible item from one that underflows.
    kinds = (items.PLAIN,) if ring is None else (items.EXTENDED,)
    nothing = (items.EXTENDED, items.IMPOSSIBLE) if ring is None else (items.IMPOSSIBLE,)
    for kind, is_possible in zip(chart[:, 0], possible(used, scores), strict=True):
        assert kind in (kinds if is_possible else nothing)


@RINGS
def test_marginals_and_their_gradients(problem, ring):
    table, used, scores = problem
    wanted = np.flatnonzero(possible(used, scores))
    chart, _ = inside(table, ring, scores)
    factors, direction = torch.tensor([1.5, -0.5]).double(), torch.randn_like(scores)
    found, grads, factor_grads = np.zeros(scores.shape), np.zeros(scores.shape), np.zeros(2)
    items.marginals(table, wanted, ring, scores.numpy(), chart, factors.numpy(), found)
    leaf, weight = scores.clone().requires_grad_(), factors.clone().requires_grad_()
    expected = totals_of(used, leaf).softmax(-1)[wanted] @ used * weight[wanted, None]
    expected = expected.reshape(found[wanted].shape)
    assert np.allclose(found[wanted], expected.detach(), atol=1e-12)
    arrays = (factors.numpy(), direction.numpy(), grads, factor_grads)
    items.hessians(table, wanted, ring, scores.numpy(), chart, *arrays)
    (expected * direction[wanted]).sum().backward()
    assert np.allclose(grads, leaf.grad.nan_to_num(), atol=1e-12)
    assert np.allclose(factor_grads, weight.grad, atol=1e-12)


@RINGS
def test_entropies_and_cross_entropies(problem, ring):
    table, used, scores = problem
    other = torch.where(scores.isinf(), scores, scores.flatten(1).flip(-1).nan_to_num(neginf=0.3).view_as(scores))
    wanted = np.flatnonzero(possible(used, scores))
    factors = torch.tensor([1.5, -0.5]).double()
    for theirs in (scores, other):
        kinds, found, grads = np.empty(2), np.zeros(2), np.zeros(scores.shape)
        others = scores.numpy()[:0] if theirs is scores else theirs.numpy()
        given = (scores.numpy(), others, factors.numpy(), kinds, found, grads)
        items.surprises(table, wanted, ring, *given)
        leaf = scores.clone().requires_grad_()
        log_p, log_q = totals_of(used, leaf).log_softmax(-1), totals_of(used, theirs).log_softmax(-1)
        expected = -(log_p.exp() * torch.where(log_p.isinf(), 0.0, log_q)).sum(-1)
        assert np.allclose(found[wanted], expected[wanted].detach(), atol=1e-12)
        (expected * factors)[wanted].sum().backward()
        assert np.allclose(grads, leaf.grad.nan_to_num(), atol=1e-12)


@given(
    st.sampled_from(["eisner of 3, single root", "eisner of 4, any root", "spans of 4", "spans of 3, labels"]),
    st.integers(0, 10_000),
    st.sampled_from([1.0, 300.0, 3000.0]),
)
def test_cross_entropies_where_both_forbid(name, seed, scale):
    """What one forbids, or makes as good as impossible, stands below what the other does, or beside it."""
    build, n, options, shape, (_, values) = PROGRAMS[name]
    shape = (*shape, values) if values > 1 else shape
    random = np.random.default_rng(seed)
    mine, theirs = (
        torch.from_numpy(np.where(random.random(shape) < 0.35, -np.inf, each * random.normal(size=shape)))
        for each in (1.0, scale)
    )
    _, used, _ = table_and_structures(name)
    totals = (totals_of(used, each.reshape(1, -1))[0] for each in (mine, theirs))
    log_p, log_q = (each.log_softmax(-1).nan_to_num(nan=-torch.inf, neginf=-torch.inf) for each in totals)
    expected = -(log_p.exp() * torch.where(log_p.isinf(), 0.0, log_q)).sum()
    table = Backend(build, spans.cells if build is spans.build else eisner.cells)
    found = table.surprise(mine[None], theirs[None], torch.tensor([n]), *options)
    assert torch.allclose(found, expected, rtol=1e-10)


def test_what_another_forbids_is_an_infinite_surprise():
    table, arcs = Backend(eisner.build, eisner.cells), torch.zeros(3, 2, 3, dtype=torch.float64)
    nothing = torch.full_like(arcs, -torch.inf)
    arcs[1], nothing[2] = -torch.inf, arcs[2]
    found = table.surprise(arcs, nothing, torch.tensor([2, 2, 2]), True)
    assert torch.allclose(found, torch.tensor([torch.inf, 0.0, math.log(2)], dtype=torch.float64))


def parts_of(codes, features, values):
    """Which parts are used, from the code of the values at each place, -1 for none."""
    codes, feature = torch.from_numpy(codes), torch.arange(features)
    value = torch.where(codes[..., None] < 0, -1, codes[..., None] // values**feature % values)
    return (value[..., None] == torch.arange(values)).double().flatten(-3)


def test_surprises_beyond_plain_numbers():
    arcs, other = torch.zeros(1, 2, 3, dtype=torch.float64), torch.zeros(1, 2, 3, dtype=torch.float64)
    other[0, 0, 2] = -900.0  # the first word below the second, in one of the two trees
    found = Backend(eisner.build, eisner.cells).surprise(arcs, other, torch.tensor([2]), True)
    assert torch.allclose(found, torch.tensor([450.0], dtype=torch.float64))


@given(st.integers(0, 10_000), st.sampled_from([1.0, 30.0, 100.0, 200.0, 1000.0]), st.booleans())
def test_no_number_of_many_weights_is_lost(seed, scale, one_sided):
    """Spans may differ by more than a double holds, where all are large or small, or those of one half are."""
    random = np.random.default_rng(seed)
    scores = scale * random.normal(size=(1, 6, 6))
    if one_sided:
        scores[0, :3] = np.abs(scores[0, :3])
        scores[0, 3:] = -np.abs(scores[0, 3:])
    scores = torch.from_numpy(scores)
    table, n = Backend(spans.build, spans.cells, event_dim=2), torch.tensor([5])
    log_partition, chart = table.inside(scores, n)
    _, used, _ = table_and_structures("spans of 5")
    totals = totals_of(used, scores)
    assert torch.allclose(log_partition, totals.logsumexp(-1), rtol=1e-12)
    found = table.outside(scores, n, torch.ones(1).double(), chart)
    assert torch.allclose(found.flatten(), totals.softmax(-1)[0] @ used, atol=1e-9)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_products_of_two_that_leave_the_range(sign):
    """The only tree: two words with more, or less, together than a double holds, and the rest that evens it."""
    scores = torch.full((1, 5, 5), -torch.inf, dtype=torch.float64)
    for i, j in [(0, 1), (1, 2), (2, 3), (3, 4), (0, 2), (2, 4), (0, 4)]:
        scores[0, i, j] = sign * (500.0 if j <= 2 and j == i + 1 else -200.0)
    table, n = Backend(spans.build, spans.cells, event_dim=2), torch.tensor([4])
    log_partition, chart = table.inside(scores, n)
    assert torch.allclose(log_partition, torch.zeros(1).double(), atol=1e-9)
    assert torch.allclose(table.outside(scores, n, torch.ones(1).double(), chart), scores.isfinite().double())


def test_best_structures_and_max_marginals(problem):
    table, used, scores = problem
    k, (batch, d, features, values) = min(len(used) + 1, 200), scores.shape
    events, found = np.full((batch, k, d), -1), np.full((batch, k), -np.inf)
    chosen.kbest(table, BOTH, scores.numpy(), 1, 1, events[..., :0], events, found)
    totals = totals_of(used, scores)
    expected = torch.cat([totals.sort(-1, descending=True).values, torch.full((batch, 1), -torch.inf)], -1)
    assert np.allclose(found, expected[:, :k])
    for item, rank in zip(*np.nonzero(np.isfinite(found)), strict=True):
        parts = parts_of(events[item, rank], features, values)
        assert np.isclose(totals[item][(used > 0).double().eq(parts).all(-1)].max(), found[item, rank])
    best = np.full(scores.shape, -np.inf)
    chosen.max_marginals(table, BOTH, scores.numpy(), best)
    with_part = torch.where(used.T > 0, totals.unsqueeze(1), -torch.inf).amax(-1)
    assert np.allclose(best, with_part.reshape(best.shape))


@RINGS
def test_samples_have_their_probabilities(problem, ring):
    table, used, scores = problem
    wanted = np.flatnonzero(possible(used, scores))
    chart, _ = inside(table, ring, scores)
    _, d, features, values = scores.shape
    events = np.full((2, 4_000, d), -1)
    seeds = np.random.default_rng(0).integers(1 << 62, size=(2, 4_000))
    chosen.sample(table, wanted, ring, scores.numpy(), chart, seeds, 0, 1, 1, 1, events[..., :0], events)
    for item in wanted:
        probability = totals_of(used, scores)[item].softmax(-1) @ (used > 0).double()
        assert np.allclose(parts_of(events[item], features, values).mean(0), probability, atol=0.04)


@example(3, False, 1217, 1e3)  # a total of 1e-194, and a second best tree at 1e-151 of it
@given(st.integers(1, 4), st.booleans(), st.integers(0, 10_000), st.sampled_from([1e-3, 1.0, 30.0, 1e3, 1e6]))
def test_entropies_are_right_to_a_millionth_at_any_scale(n, single_root, seed, scale):
    table = Backend(eisner.build, eisner.cells)
    random = np.random.default_rng(seed)
    arcs = scale * random.normal(size=(1, n, n + 1))
    found = table.entropy(torch.from_numpy(arcs), torch.tensor([n]), single_root).item()
    kind = f"eisner of {n}, {'single' if single_root else 'any'} root"
    _, used, _ = table_and_structures(kind)
    with mpmath.workdps(60):
        totals = [mpmath.fsum(arcs.flat[int(place)] for place in row.nonzero()) for row in used]
        top = max(totals)
        weights = [mpmath.exp(total - top) for total in totals]
        whole = mpmath.fsum(weights)
        others = [mpmath.fsum(weights[:i] + weights[i + 1 :]) for i in range(len(weights))]
        terms = [w / whole * mpmath.log1p(rest / w) for w, rest in zip(weights, others, strict=True) if w]
        exact = float(mpmath.fsum(terms))
    tiny = np.finfo(np.float64).tiny  # a share below it counts as 0, with all its surprise
    assert abs(found - exact) <= max(1e-6 * exact, -np.log(tiny) * tiny)


def test_rows_come_in_an_order_in_which_cells_are_made_before_they_are_used():
    for build, n, options, *_ in PROGRAMS.values():
        program = build(n, *options)
        made = np.full(len(program.maker), len(program.rows))
        made[program.maker < 0] = -1  # leaves, and what stays 0
        for s, row in enumerate(program.rows):
            for run in (row[LEFT], row[RIGHT]):
                assert run < 0 or (made[run : run + row[COUNT]] < s).all()
            made[[row[OUT], row[MIRROR]]] = s


def test_there_is_room_for_the_cells_of_all_lengths():
    for n in range(1, 12):
        for single_root in (True, False):
            assert len(eisner.build(n, single_root).maker) <= eisner.cells(n, n + 1, single_root)
        assert len(spans.build(n).maker) <= spans.cells(n + 1, n + 1)
    for program, sizes in (
        (chain, (5, (6, 4), (1, 4, 4))),
        (chain, (5, (6, 1), (4, 1, 1))),
        (semi_markov, (5, (6, 3, 4), (4, 4))),
        (semi_markov, (5, (6, 3, 4), (5, 1, 1))),
        (alignment, (3, 4, (3, 4, 3), (3, 3))),
        (ctc, (5, 2, 7)),
    ):
        assert len(program.build(*sizes).maker) <= program.cells(*sizes)


def test_few_bytes_of_tables_are_kept(monkeypatch):
    written = []

    def build(n, single_root):
        written.append(n)
        return eisner.build(n, single_root)

    tables = Tables(build)
    monkeypatch.setattr(array_cache, "MOST", 25_000)
    for n in (10, 10, 11, 12, 10):
        tables.get(n, (True,), (12, 13))
    assert written == [10, 11, 12, 10]
    assert tables._cache._bytes <= 25_000


@pytest.mark.parametrize("forbidden", [slice(None), slice(0, 2)], ids=["all", "what every structure uses"])
def test_the_marginals_of_an_impossible_item_have_no_gradient(forbidden):
    table, _, (places, *_) = table_and_structures("tags of 3")
    scores, direction = np.zeros((1, places, 1, 1)), np.ones((1, places, 1, 1))
    scores[0, forbidden] = -np.inf
    grads, factor_grads = np.zeros_like(scores), np.zeros(1)
    chart = np.full((1, 1), np.nan)  # of a kernel that does not tell
    items.hessians(
        table, np.arange(1), np.empty(0, np.int64), scores, chart, np.ones(1), direction, grads, factor_grads
    )
    assert not grads.any()
    assert not factor_grads.any()


def test_tables_in_tables_count():
    row = np.zeros(100, np.int64)
    assert array_cache.size((row, (row, (row, 3)), None)) == 2400


@pytest.mark.parametrize("batch", [0, 2])
def test_rows_of_no_places_have_parts(batch):
    scores = [torch.zeros(batch, 0, 1), torch.zeros(min(batch, 1), 0, 0, 1)]
    found = rows.parted(torch.zeros(batch, 0), scores)
    assert [part.shape for part in found] == [each.shape for each in scores]


def test_exponentials_of_any_size():
    """Beyond the largest double they are infinite, and never another number."""
    large = [1e6, 1e300, np.inf, -np.inf]
    x = np.concatenate([np.linspace(-760, 800, 5000), np.linspace(800, 20_000, 5000), large])
    found = np.array([rings.exp(each) for each in x])
    with np.errstate(over="ignore", under="ignore"):
        expected = np.exp(x)
    assert np.allclose(found, expected, rtol=1e-15, atol=1e-307)
    assert (found[expected == 0.0] == 0.0).all()
