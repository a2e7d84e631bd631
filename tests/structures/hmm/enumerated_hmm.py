"""Small hidden Markov models, and what enumeration of all state sequences says of them."""

import itertools

import torch
from torch import Tensor

from strukt.distributions import HMM, Banded, Dense, LowRank
from strukt.structures.hmm.transitions import Transition

KINDS = ("dense", "low rank", "band", "low rank and band")


def normal(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def transition_parameters(kind: str, z: int = 3, r: int = 2, w: int = 1, seed: int = 7) -> list[Tensor]:
    if kind == "dense":
        return [normal(z, z, seed=seed)]
    band = normal(z, 2 * w + 1, seed=seed + 2)
    low_rank = [normal(z, r, seed=seed), normal(z, r, seed=seed + 1)]
    return {"low rank": low_rank, "band": [band], "low rank and band": [*low_rank, band]}[kind]


def transition_of(kind: str, parameters: list[Tensor]) -> Transition:
    operator = {"dense": Dense, "band": Banded}.get(kind, LowRank)
    return operator(*parameters)


def model(kind: str, z: int = 3, v: int = 4, seed: int = 0, **options: object) -> HMM:
    transition = transition_of(kind, transition_parameters(kind, z, seed=seed + 7))
    return HMM(normal(z, seed=seed), transition, normal(z, v, seed=seed + 1), **options)


def words(*shape: int, v: int = 4, seed: int = 0) -> Tensor:
    return torch.randint(v, shape, generator=torch.Generator().manual_seed(seed))


def matrix_of(hmm: HMM) -> Tensor:
    """The transition matrix, from the definition of each operator."""
    operator = hmm.transition
    if isinstance(operator, Dense):
        return operator.logits.softmax(1)
    z = operator.states
    weights = torch.zeros(z, z, dtype=operator.dtype)
    if isinstance(operator, LowRank):
        weights = weights + (operator.source.exp() @ operator.target.exp().mT)
    band = operator.logits if isinstance(operator, Banded) else operator.band
    if band is not None:
        w = band.shape[1] // 2
        rows = []
        for i in range(z):
            near = [band[i, j - i + w].exp() if abs(j - i) <= w else band.new_zeros(()) for j in range(z)]
            rows.append(torch.stack(near))
        weights = weights + torch.stack(rows)
    return weights / weights.sum(1, keepdim=True)


def joint(hmm: HMM, x: Tensor) -> tuple[Tensor, Tensor]:
    """All state sequences for one sentence ``(count, n)``, and their log-probabilities with it ``(count,)``."""
    z, n = len(hmm.initial), len(x)
    first, matrix, emission = (
        hmm.initial.log_softmax(0),
        matrix_of(hmm).log(),
        hmm.emission.logits.log_softmax(1),
    )
    sequences = torch.tensor(list(itertools.product(range(z), repeat=n)), dtype=torch.int64).reshape(z**n, n)
    scores = torch.zeros(len(sequences), dtype=hmm.initial.dtype)
    for t in range(n):
        came = first[sequences[:, 0]] if t == 0 else matrix[sequences[:, t - 1], sequences[:, t]]
        scores = scores + came + emission[sequences[:, t], x[t]]
    return sequences, scores


def log_prob(hmm: HMM, x: Tensor) -> Tensor:
    return joint(hmm, x)[1].logsumexp(0)


def posterior(hmm: HMM, x: Tensor) -> Tensor:
    """The probability of each state at each place given all words of one sentence: ``(n, z)``."""
    sequences, scores = joint(hmm, x)
    states = torch.nn.functional.one_hot(sequences, len(hmm.initial)).to(scores.dtype)
    return (scores.softmax(0)[:, None, None] * states).sum(0)
