"""Latent structures against sums over all structures, written out."""

import pytest
import torch

from strukt.distributions import KSubset, LinearChain, NonProjectiveTree
from strukt.errors import InfeasibleError
from strukt.factor_graph import FactorGraph, factors
from strukt.nn import LatentStructure, estimators


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def trees(arcs: torch.Tensor, *_: torch.Tensor) -> NonProjectiveTree:
    return NonProjectiveTree(arcs, labelled=False)


def products(parts: torch.Tensor, _: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Something of a structure that is not linear in its parts: ``(pairs, 2)``."""
    first = (parts * values).flatten(1).sum(-1)
    return torch.stack([first.tanh(), (parts * values.square()).flatten(1).sum(-1).sin()], -1)


def over_all(arcs: torch.Tensor, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Log-probabilities ``(trees, batch)`` of all trees, and what `products` makes of them."""
    distribution = NonProjectiveTree(arcs, labelled=False)
    events = distribution.enumerate_support()
    parts = distribution.to_parts(events)
    return distribution.log_prob(events), torch.stack([products(row, arcs, values) for row in parts])


@pytest.fixture
def arcs() -> torch.Tensor:
    return (2 * normal(2, 3, 4)).requires_grad_()


@pytest.fixture
def values() -> torch.Tensor:
    return normal(2, 3, 4, seed=1)


def gradient(output: torch.Tensor, arcs: torch.Tensor) -> torch.Tensor:
    (found,) = torch.autograd.grad((output * torch.tensor([1.0, -2.0])).sum(), arcs, retain_graph=True)
    return found


@pytest.mark.parametrize("k", [9, 20])
def test_all_of_the_best_are_the_exact_sum(arcs, values, k):
    """Three words have nine trees with one root."""
    mixture = LatentStructure(products, trees, estimators.TopK(k))(arcs, values)
    log_probs, outputs = over_all(arcs, values)
    exact = (log_probs.exp().unsqueeze(-1) * outputs).sum(0)
    assert mixture.counts.tolist() == [9, 9]
    assert torch.allclose(mixture.expected(mixture.outputs), exact)
    assert torch.allclose(gradient(mixture.expected(mixture.outputs), arcs), gradient(exact, arcs))


def test_few_of_the_best_are_scaled_to_one(arcs, values):
    mixture = LatentStructure(products, trees, estimators.TopK(2))(arcs, values)
    log_probs, outputs = over_all(arcs, values)
    best = log_probs.topk(2, dim=0)
    weights = best.values.softmax(0)
    chosen = outputs.gather(0, best.indices.unsqueeze(-1).expand(-1, -1, 2))
    assert torch.allclose(mixture.expected(mixture.outputs), (weights.unsqueeze(-1) * chosen).sum(0))


def test_sparsemap_sums_over_what_carries_its_solution(arcs, values):
    mixture = LatentStructure(products, trees)(arcs, values)
    found = NonProjectiveTree(arcs, labelled=False).sparsemap()
    for item in range(2):
        own = mixture.items == item
        assert int(mixture.counts[item]) == int((found.weights[item] > 0).sum())
        mean = (mixture.weights[own].unsqueeze(-1).unsqueeze(-1) * mixture.parts[own]).sum(0)
        assert torch.allclose(mean, found.marginals[item], atol=1e-6)


def test_sparse_marginals_are_one_soft_structure(arcs, values):
    mixture = LatentStructure(products, trees, "sparse-marginals")(arcs, values)
    assert mixture.counts.tolist() == [1, 1]
    assert torch.allclose(mixture.parts, NonProjectiveTree(arcs, labelled=False).sparsemap().marginals, atol=1e-6)
    assert not torch.allclose(mixture.parts, NonProjectiveTree(arcs, labelled=False).marginals, atol=1e-2)


@pytest.mark.parametrize("estimator", ["sparsemap", "topk", "marginals", "sparse-marginals"])
def test_derivatives_are_those_of_the_value(arcs, values, estimator):
    latent = LatentStructure(products, trees, estimator)

    def value(arcs: torch.Tensor) -> torch.Tensor:
        mixture = latent(arcs, values)
        return mixture.expected(mixture.outputs) + mixture.log_likelihood(-mixture.outputs.exp())

    assert torch.autograd.gradcheck(value, arcs, atol=1e-4)


def test_the_likelihood_is_that_of_the_mixture_however_small(arcs, values):
    latent = LatentStructure(products, trees, estimators.TopK(9))
    mixture = latent(arcs, values)
    log_probs, outputs = over_all(arcs, values)
    for shift in (0.0, -2000.0):
        exact = torch.logsumexp(log_probs.unsqueeze(-1) + outputs + shift, 0)
        assert torch.allclose(mixture.log_likelihood(mixture.outputs + shift), exact)
    impossible = mixture.outputs.masked_fill(mixture.items.unsqueeze(-1) == 0, -torch.inf)
    likelihood = mixture.log_likelihood(impossible)
    assert (likelihood[0] == -torch.inf).all()
    assert likelihood[1].isfinite().all()


def test_samples_have_the_gradient_of_the_expectation(arcs, values):
    """The mean over many samples, within four standard errors; and the control variate makes it more certain."""
    log_probs, outputs = over_all(arcs, values)
    exact = gradient((log_probs.exp().unsqueeze(-1) * outputs).sum(0), arcs)
    torch.manual_seed(0)
    latent = LatentStructure(products, trees, estimators.Sample(4))
    repeated, copies = arcs.repeat(4000, 1, 1), values.repeat(4000, 1, 1)
    mixture = latent(repeated, copies)
    per_item = gradient(mixture.expected(mixture.outputs), repeated).reshape(4000, *arcs.shape)
    errors = (per_item.mean(0) - exact).abs()
    assert (errors <= 4 * per_item.std(0) / 4000**0.5 + 1e-12).all()
    plain = mixture.weights.unsqueeze(-1) * (mixture.outputs + 5.0)
    without = gradient(plain.new_zeros(8000, 2).index_add(0, mixture.items, plain), repeated)
    shifted = gradient(mixture.expected(mixture.outputs + 5.0), repeated).reshape(4000, *arcs.shape)
    assert torch.allclose(shifted, per_item)
    assert shifted.var(0).sum() < 0.5 * without.reshape(4000, *arcs.shape).var(0).sum()


def test_the_bound_of_samples_is_the_mean_of_logs(arcs, values):
    torch.manual_seed(0)
    mixture = LatentStructure(products, trees, "sample")(arcs, values)
    assert mixture.counts.tolist() == [4, 4]
    expected = torch.stack([mixture.outputs[mixture.items == item].mean(0) for item in range(2)])
    assert torch.allclose(mixture.log_likelihood(mixture.outputs), expected)


@pytest.mark.parametrize("estimator", list(estimators.ESTIMATORS))
def test_prediction_is_not_random(arcs, values, estimator):
    latent = LatentStructure(products, trees, estimator).eval()
    first, second = latent(arcs, values), latent(arcs, values)
    assert torch.equal(first.expected(first.outputs), second.expected(second.outputs))


def test_lengths_and_other_scores():
    """Items of different lengths, down to none, of a structure with transitions."""
    unary, transition = normal(3, 4, 2).requires_grad_(), normal(2, 2, seed=4).requires_grad_()
    lengths = torch.tensor([4, 0, 2])

    def scorer(unary: torch.Tensor) -> LinearChain:
        return LinearChain(unary, transition, lengths)

    def downstream(parts: torch.Tensor, unary: torch.Tensor) -> torch.Tensor:
        return (parts * unary).flatten(1).sum(-1).tanh()

    for name in estimators.ESTIMATORS:
        mixture = LatentStructure(downstream, scorer, name)(unary)
        outputs = mixture.expected(mixture.outputs)
        assert outputs.shape == (3,)
        assert outputs[1] == 0
        found = torch.autograd.grad(outputs.sum(), (unary, transition), allow_unused=True)
        assert (found[0][1] == 0).all()
        assert (found[0][2, 2:] == 0).all()


def test_marginals_of_a_factor_graph():
    graph = FactorGraph()
    graph.add(factors.Xor(graph.variables(3)))
    scores = normal(2, 3).requires_grad_()
    latent = LatentStructure(lambda parts, scores: parts * scores, graph.lp_sparsemap, "marginals")
    mixture = latent(scores)
    found = KSubset(scores, 1).sparsemap().marginals
    assert torch.allclose(mixture.expected(mixture.outputs), found * scores, atol=1e-6)


def test_what_is_refused():
    with pytest.raises(ValueError, match="estimator is 'beam'; expected one of sparsemap"):
        LatentStructure(products, trees, "beam")
    for count in (1, 2.5):
        with pytest.raises(ValueError, match=f"count is {count}; expected at least 2"):
            estimators.Sample(count)
    with pytest.raises(
        ValueError, match="gradient is 'none'; expected straight-through, spigot or perceptron"
    ):
        KSubset(torch.zeros(3), 1).mode_parts("none")
    with pytest.raises(ValueError, match=r"batch shape \(\); expected \(3,\)"):
        LatentStructure(products, trees)(torch.zeros(3, 4), torch.zeros(3, 4))
    with pytest.raises(ValueError, match="gradient is 'straight'; expected straight-through, spigot"):
        estimators.Argmax("straight")
    with pytest.raises(ValueError, match="step is 0; expected a positive number"):
        estimators.Argmax("spigot", 0)
    for inputs in ((), ("words",)):
        with pytest.raises(ValueError, match="inputs has no tensor"):
            LatentStructure(lambda parts, *_: parts, lambda *_: KSubset(torch.zeros(1, 3), 1))(*inputs)
    graph = FactorGraph()
    graph.add(factors.Xor(graph.variables(3)))
    with pytest.raises(
        ValueError, match="a Relaxation, which has only marginals; use estimator 'marginals'"
    ):
        LatentStructure(products, graph.lp_sparsemap)(torch.zeros(2, 3))
    forbidden = torch.full((1, 2), -torch.inf)
    for name in ("marginals", "relaxed"):
        mixture = LatentStructure(lambda parts, _: parts, lambda s: KSubset(s, 1), name)(forbidden)
        assert not mixture.outputs.any()
    for name in ("sparsemap", "topk", "argmax", "sample"):
        with pytest.raises(InfeasibleError):
            LatentStructure(lambda parts, _: parts, lambda scores: KSubset(scores, 1), name)(forbidden)


@pytest.mark.parametrize("name", estimators.ESTIMATORS)
def test_a_class_that_is_forbidden_has_no_gradient_and_spoils_no_other(name, arcs, values):
    """Two classes and one that no structure permits, against the two alone."""
    forbidden = torch.tensor([0.0, 0.0, -torch.inf], dtype=torch.float64)
    found = []
    for classes in (3, 2):
        torch.manual_seed(0)

        def downstream(parts, row, others, classes=classes):
            first = products(parts, row, others)[:, 0]
            logits = torch.stack([first, 1 - first, first][:classes], -1)
            return (logits + forbidden[:classes]).log_softmax(-1)

        mixture = LatentStructure(downstream, trees, name)(arcs, values)
        log_probs = mixture.log_likelihood(mixture.outputs)
        (of_arcs,) = torch.autograd.grad(torch.nn.functional.nll_loss(log_probs, torch.tensor([0, 1])), arcs)
        found.append((log_probs[:, :2], of_arcs))
        assert (log_probs[:, 2:] == -torch.inf).all()
    assert found[0][1].isfinite().all()
    for three, two in zip(*found, strict=True):
        torch.testing.assert_close(three, two)


def test_rows_that_do_not_fit_are_refused(arcs, values):
    latent = LatentStructure(products, trees, "topk")
    with pytest.raises(ValueError, match=r"inputs has tensors of \[2, 1\] rows"):
        latent(arcs, values[:1])
    mixture = latent(arcs, values)
    pairs = len(mixture.items)
    for wrong, text in ((torch.zeros(1), r"shape \(1,\)"), ((torch.zeros(pairs),), "type tuple")):
        for method in (mixture.expected, mixture.log_likelihood):
            with pytest.raises(
                ValueError, match=rf"values are of {text}; expected a tensor \({pairs}, \.\.\.\)"
            ):
                method(wrong)
    with pytest.raises(ValueError, match="estimator is None; expected a name, or an estimator"):
        LatentStructure(products, trees, None)


def test_a_number_among_the_inputs_is_passed_on(arcs, values):
    latent = LatentStructure(
        lambda parts, _, v, factor: factor * products(parts, _, v), lambda a, *_: trees(a), "topk"
    )
    mixture, once = (
        latent(arcs, values, torch.tensor(2.0)),
        LatentStructure(products, trees, "topk")(arcs, values),
    )
    torch.testing.assert_close(mixture.outputs, 2 * once.outputs)


@pytest.mark.parametrize("estimator", estimators.ESTIMATORS.values(), ids=estimators.ESTIMATORS)
@pytest.mark.parametrize("batch", [(), (2, 2)])
def test_estimators_need_one_batch_axis(estimator, batch):
    with pytest.raises(ValueError, match=r"structures have batch shape .*; expected one batch axis"):
        estimator(KSubset(torch.zeros(*batch, 3), 1))
