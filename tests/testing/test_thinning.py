"""Of a thinned product every value is tried, beside every value of the parameters that are not thinned."""

import itertools

import pytest
from tests.thinning import is_kept, is_thinned_out


@pytest.mark.parametrize(("kinds", "sizes", "changes"), [(3, 5, 2), (4, 5, 5), (1, 7, 4), (6, 2, 6)])
def test_every_value_is_kept_once_for_each_value_of_the_others(kinds, sizes, changes):
    kept = [
        (kind, size, change)
        for kind, size, change in itertools.product(range(kinds), range(sizes), range(changes))
        if is_kept({"kind": kind, "size": size, "change": change}, {"size": sizes, "change": changes})
    ]
    assert len(kept) == kinds * max(sizes, changes)
    assert {(kind, size) for kind, size, _ in kept} == set(itertools.product(range(kinds), range(sizes)))
    assert {(kind, change) for kind, _, change in kept} == set(
        itertools.product(range(kinds), range(changes))
    )


def test_other_pairs_are_kept_for_other_kinds():
    def pairs(kind):
        places = itertools.product(range(5), range(5))
        return {(a, b) for a, b in places if is_kept({"kind": kind, "a": a, "b": b}, {"a": 5, "b": 5})}

    assert set.union(*map(pairs, range(5))) == set(itertools.product(range(5), range(5)))


@pytest.fixture(scope="module")
def ran():
    """The combinations below that run; all of them with `--slow`."""
    return set()


@pytest.mark.thinned("size", "change")
@pytest.mark.parametrize(("change", "tolerance"), [("x", 0), ("y", 0), ("z", 0)])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("kind", ["a", "b"])
def test_a_product(request, ran, kind, size, change, tolerance):
    ran.add((kind, size, change))
    assert request.config.getoption("--slow") or not is_thinned_out(request.node)


def test_of_a_product_every_value_ran(request, ran):
    if not ran:
        pytest.skip("the product was not asked for")
    assert len(ran) == (30 if request.config.getoption("--slow") else 10)
    assert {(kind, size) for kind, size, _ in ran} == set(itertools.product("ab", range(1, 6)))
    assert {(kind, change) for kind, _, change in ran} == set(itertools.product("ab", "xyz"))
