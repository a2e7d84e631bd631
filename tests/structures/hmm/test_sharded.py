"""Hidden Markov models whose states two processes share: the numbers of one process."""

import pytest
import torch
import torch.multiprocessing
from torch import distributed as dist

from strukt import HMM, Categorical, Embedded, LowRank, ShardedHMM

Z, R, V, BORDER = 11, 3, 7, 4
LENGTHS = torch.tensor([9, 0, 1, 6])


def numbers(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def given(dtype=torch.float64):
    """Initial, source, target, emission, of which the rows are states."""
    return [numbers(Z, *rest, seed=seed, dtype=dtype) for seed, rest in enumerate([(), (R,), (R,), (V,)])]


def words():
    found = torch.randint(1, V, (4, 9), generator=torch.Generator().manual_seed(5))
    found[3, 2] = 0
    return found


WEIGHTS = torch.tensor([1.0, 2.0, -0.5, 3.0], dtype=torch.float64)


def impossible(parameters):
    """Word 0 in no state, words 1 and 2 in states of one process only, a state and a feature never reached."""
    initial, _, target, emission = parameters
    initial[1], target[9], target[:, 2] = -torch.inf, -torch.inf, -torch.inf
    emission[:, 0], emission[BORDER:, 1], emission[:BORDER, 2] = -torch.inf, -torch.inf, -torch.inf
    return parameters


CASES = {
    "plain": (given, {}),
    "checkpoint": (given, {"checkpoint": True}),
    "large": (lambda: [200 * part for part in given()], {}),
    "impossible": (lambda: impossible(given()), {}),
    "single": (lambda: given(torch.float32), {}),
}


def answer(kind, parameters, options):
    """The evidence and its gradients in the parameters."""
    parameters = [part.clone().requires_grad_() for part in parameters]
    initial, source, target, emission = parameters
    model = kind(initial, LowRank(source, target), emission, **options)
    evidence = model.log_prob(words(), LENGTHS)
    total = (torch.where(evidence > -torch.inf, evidence, 0.0) * WEIGHTS).sum()
    return [evidence.detach(), *torch.autograd.grad(total, parameters)]


def embedded(kind, rows, vectors):
    """The gradient in the vectors of words, which all processes have."""
    initial, source, target, _ = (part[rows] for part in given())
    word_vectors = vectors.clone().requires_grad_()
    model = kind(initial, LowRank(source, target), Embedded(numbers(Z, 2, seed=8)[rows], word_vectors))
    return torch.autograd.grad(model.log_prob(words(), LENGTHS).sum(), word_vectors)[0]


def process(rank, folder):
    """One of two processes, which saves what it found."""
    torch.set_num_threads(1)
    store = dist.FileStore(f"{folder}/store", 2)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=2)
    rows = slice(BORDER) if rank == 0 else slice(BORDER, Z)
    found = {
        name: answer(ShardedHMM, [part[rows] for part in make()], options)
        for name, (make, options) in CASES.items()
    }
    found["embedded"] = embedded(ShardedHMM, rows, numbers(V, 2, seed=9))
    initial, source, target, emission = (part[rows].requires_grad_() for part in given())
    evidence = ShardedHMM(initial, LowRank(source, target), emission).log_prob(words(), LENGTHS).sum()
    try:
        torch.autograd.grad(evidence, source, create_graph=True)
    except NotImplementedError as error:
        found["twice"] = str(error)
    torch.save(found, f"{folder}/{rank}.pt")
    dist.destroy_process_group()


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """What each of the two processes found."""
    folder = tmp_path_factory.mktemp("shared")
    torch.multiprocessing.spawn(process, (str(folder),), nprocs=2)
    return [torch.load(folder / f"{rank}.pt", weights_only=True) for rank in range(2)]


@pytest.mark.parametrize("name", CASES)
def test_two_processes_have_the_numbers_of_one(shared, name):
    make, options = CASES[name]
    evidence, *gradients = answer(HMM, make(), options)
    close = {"rtol": 1e-4, "atol": 1e-5} if name == "single" else {"rtol": 1e-10, "atol": 1e-10}
    for found in shared:
        torch.testing.assert_close(found[name][0], evidence, **close)
    for place, gradient in enumerate(gradients, 1):
        both = torch.cat([found[name][place] for found in shared])
        torch.testing.assert_close(both, gradient, **close)


def test_the_impossible_case_has_sentences_of_either_kind():
    """So that the comparison above says something about both."""
    evidence = answer(HMM, impossible(given()), {})[0]
    assert {*(evidence == -torch.inf).tolist()} == {True, False}


def test_parameters_in_common_have_the_sum_of_the_gradients(shared):
    whole = embedded(HMM, slice(None), numbers(V, 2, seed=9))
    parts = sum(found["embedded"] for found in shared)
    torch.testing.assert_close(parts, whole, rtol=1e-10, atol=1e-10)
    assert not torch.allclose(shared[0]["embedded"], whole)


def test_second_derivatives_are_refused(shared):
    assert "no second derivatives" in shared[0]["twice"]


def test_a_group_and_a_transition_without_a_band_are_needed():
    initial, source, target, emission = given()
    with pytest.raises(ValueError, match=r"there is no group of processes; call torch\.distributed\.init"):
        ShardedHMM(initial, LowRank(source, target), Categorical(emission))
    with pytest.raises(ValueError, match="transition has a band, which would cross processes"):
        ShardedHMM(initial, LowRank(source, target, numbers(Z, 3)), emission)
