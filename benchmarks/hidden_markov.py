"""Log-probabilities of sentences in hidden Markov models of z states and v words.

Inputs are logits of the first state `(z,)`, transitions, and logits of words `(z, v)`. Transitions are dense
logits `(z, z)`, or log-features `(z, r)` of the states before and after. The scaled recursion of *torch* is that
of Chiu, Deng and Rush (2021), whose code is not on the package index; autograd differentiates the loop.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor

from benchmarks.contest import Case, Contestant, Family, Outputs, forward, gradient

BATCH, LENGTH = 8, 64


def sentences(words: int, size: tuple[int, int] = (BATCH, LENGTH)) -> Tensor:
    """Return random sentences in the shape `size`, the same in every process; word n has a frequency ~ 1 / n."""
    weights = 1.0 / torch.arange(1, words + 1)
    generator = torch.Generator().manual_seed(0)
    return torch.multinomial(weights.expand(size[0], -1), size[1], replacement=True, generator=generator)


def strukt_log_prob(initial: Tensor, *scores: Tensor, size: tuple[int, int] = (BATCH, LENGTH)) -> Tensor:
    from strukt.distributions import HMM, LowRank

    *transition, emission = scores
    operator = LowRank(*transition) if len(transition) == 2 else transition[0]
    words = sentences(emission.shape[1], size).to(emission.device)
    return HMM(initial, operator, emission, validate_args=False).log_prob(words)


def torch_log_prob(initial: Tensor, *scores: Tensor, size: tuple[int, int] = (BATCH, LENGTH)) -> Tensor:
    """Return log-probabilities by the scaled forward recursion in PyTorch."""
    *transition, emission = scores
    words = sentences(emission.shape[1], size).to(emission.device)
    state, total = initial.softmax(0).expand(size[0], -1), initial.new_zeros(size[0])
    if len(transition) == 2:
        source, target = (features.exp() for features in transition)
        leaving, landing = source / (source @ target.sum(0)).unsqueeze(1), target.mT
    else:
        leaving, landing = transition[0].softmax(1), None
    weights = emission.log_softmax(1).mT[words].exp()
    for time in range(size[1]):
        if time:
            state = state @ leaving
            state = state if landing is None else state @ landing
        state = state * weights[:, time]
        scale = state.sum(1)
        total = total + scale.log()
        state = state / scale.unsqueeze(1)
    return total


def dynamax_log_prob(*scores: Tensor) -> Tensor:
    return _Dynamax.apply(*scores)


def _dynamax(initial: Any, transition: Any, emission: Any) -> Any:
    """Return log-probabilities by dynamax, as JAX arrays."""
    import jax
    from dynamax.hidden_markov_model import hmm_filter

    start, matrix = jax.nn.softmax(initial), jax.nn.softmax(transition, 1)
    rows = jax.nn.log_softmax(emission, 1).T
    words = jax.numpy.asarray(sentences(emission.shape[1]).numpy())
    return jax.vmap(lambda some: hmm_filter(start, matrix, rows[some]).marginal_loglik)(words)


@cache
def _compiled() -> Any:
    import jax

    return jax.jit(_dynamax)


@cache
def _compiled_with_gradient() -> Any:
    """Return the compiled function of values and of the gradient of their sum."""
    import jax

    def total(*scores: Any) -> Any:
        value = _dynamax(*scores)
        return value.sum(), value

    return jax.jit(jax.value_and_grad(total, argnums=(0, 1, 2), has_aux=True))


class _Dynamax(torch.autograd.Function):
    """Autograd function of dynamax; JAX computes the gradient of the sum together with the values."""

    @staticmethod
    def forward(ctx: Any, *scores: Tensor) -> Tensor:
        arrays = [score.detach().numpy() for score in scores]
        if not any(ctx.needs_input_grad):
            return _tensor(_compiled()(*arrays))
        (_, value), gradients = _compiled_with_gradient()(*arrays)
        ctx.gradients = [_tensor(part) for part in gradients]
        return _tensor(value)

    @staticmethod
    def backward(ctx: Any, weights: Tensor) -> tuple[Tensor, ...]:
        if not bool((weights == 1).all()):
            raise ValueError("only the gradient of the sum is known")
        return tuple(ctx.gradients)


def _tensor(array: Any) -> Tensor:
    import numpy

    return torch.from_numpy(numpy.array(array))


def hmmlearn_log_prob(initial: Tensor, transition: Tensor, emission: Tensor) -> Tensor:
    """Return log-probabilities by hmmlearn; raise NotImplementedError for gradients and many states."""
    from hmmlearn.hmm import CategoricalHMM

    if emission.requires_grad:
        raise NotImplementedError("no gradient")
    if len(initial) > 1024:
        raise NotImplementedError("minutes a call")
    model = CategoricalHMM(len(initial), implementation="scaling")
    model.n_features = emission.shape[1]
    model.startprob_ = initial.double().softmax(0).numpy()
    model.transmat_ = transition.double().softmax(1).numpy()
    model.emissionprob_ = emission.double().softmax(1).numpy()
    values = [model.score(words[:, None].numpy()) for words in sentences(emission.shape[1])]
    return torch.tensor(values, dtype=initial.dtype)


def dense(states: int, words: int) -> Case:
    shapes = ((states,), (states, states), (states, words))
    return Case(f"{states:,} states, {words:,} words", shapes)


def low_rank(states: int, rank: int, words: int, scale: float = 1.0) -> Case:
    shapes = ((states,), (states, rank), (states, rank), (states, words))
    spread = "" if scale == 1 else f", log-features of standard deviation {scale:g}"
    name = f"{states:,} states, rank {rank}, {words:,} words{spread}"
    return Case(name, shapes, scales=(1.0, scale, scale, 1.0))


def exact(*scores: Tensor) -> Outputs:
    """Return low-rank log-probabilities and gradients, from dense transitions in log space, in float64."""
    leaves = [score.double().requires_grad_() for score in scores]
    initial, source, target, emission = leaves
    transition = (source.unsqueeze(1) + target).logsumexp(2).log_softmax(1)
    weights = emission.log_softmax(1).mT[sentences(emission.shape[1])]
    state = initial.log_softmax(0) + weights[:, 0]
    for time in range(1, LENGTH):
        state = (state.unsqueeze(2) + transition).logsumexp(1) + weights[:, time]
    value = state.logsumexp(1)
    return (value.detach(), *torch.autograd.grad(value.sum(), leaves))


OPERATIONS = {"log-partition": forward, "gradient": gradient}

DENSE = Family(
    name="hmm-dense",
    title=f"Hidden Markov model ({BATCH} sentences of {LENGTH} words)",
    cases=(dense(1024, 10_000), dense(8192, 1000)),
    warm_up=dense(5, 20),
    contestants=(
        Contestant("strukt", strukt_log_prob),
        Contestant("torch", torch_log_prob),
        Contestant("dynamax", dynamax_log_prob),
        Contestant("hmmlearn", hmmlearn_log_prob),
    ),
    operations=OPERATIONS,
)

LOW_RANK = Family(
    name="hmm-low-rank",
    title=f"Hidden Markov model of low rank ({BATCH} sentences of {LENGTH} words)",
    cases=(
        low_rank(8192, 256, 10_000),
        low_rank(16_384, 512, 10_000),
        low_rank(65_536, 512, 1000),
    ),
    warm_up=low_rank(5, 2, 20),
    contestants=(Contestant("strukt", strukt_log_prob), Contestant("torch", torch_log_prob)),
    accuracy=tuple(low_rank(128, 16, 1000, scale) for scale in (1, 30, 60, 200)),
    exact=exact,
    operations=OPERATIONS,
)
