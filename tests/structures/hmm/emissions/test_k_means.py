"""Centres of clusters."""

import torch

from strukt.structures.hmm.emissions.k_means import clusters


def test_clusters_far_apart_are_found_whatever_the_units():
    torch.manual_seed(0)
    true = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1e6]], dtype=torch.float64)
    values = true.repeat_interleave(30, 0) + torch.randn(90, 2).double() * torch.tensor([0.01, 1e4])
    centres, members = clusters(values, 3)
    for state in range(3):
        (number,) = members[30 * state : 30 * (state + 1)].unique()
        assert torch.allclose(centres[number], values[30 * state : 30 * (state + 1)].mean(0))


def test_fewer_values_than_clusters_and_constant_ones():
    torch.manual_seed(0)
    values = torch.tensor([[1.0, 5.0], [2.0, 5.0]])
    centres, members = clusters(values, 4)
    assert centres.shape == (4, 2)
    assert {tuple(centre) for centre in centres.tolist()} == {(1.0, 5.0), (2.0, 5.0)}
    assert torch.equal(centres[members], values)
    assert clusters(values[:1], 2)[0].tolist() == [[1.0, 5.0]] * 2


def test_seeds_choose_the_start():
    values = torch.randn(50, 3, generator=torch.Generator().manual_seed(0))
    results = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        results.append(clusters(values, 10)[0])
    assert torch.equal(results[0], results[1])
    assert not torch.equal(results[0], results[2])
