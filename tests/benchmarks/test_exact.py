"""Arbitrary precision agrees with enumeration, and stays finite where float64 does not."""

import itertools

import pytest
import torch
from benchmarks.exact import matrix_tree

pytest.importorskip("mpmath")


def is_tree(heads: tuple[int, ...]) -> bool:
    """Exactly one word hangs on the root, and every word reaches it."""

    def reaches(word: int) -> bool:
        for _ in heads:
            word = heads[word - 1]
            if word == 0:
                return True
        return False

    return heads.count(0) == 1 and all(reaches(word) for word in range(1, len(heads) + 1))


@pytest.mark.parametrize("scale", [1.0, 10.0])
def test_log_partition_and_marginals_agree_with_enumeration(scale: float) -> None:
    words = 4
    arcs = scale * torch.randn(2, words, words + 1, generator=torch.Generator().manual_seed(1))
    trees = [heads for heads in itertools.product(range(words + 1), repeat=words) if is_tree(heads)]
    assert len(trees) == words ** (words - 1)
    parts = torch.stack([torch.nn.functional.one_hot(torch.tensor(heads), words + 1) for heads in trees])
    scores = torch.einsum("bmh,tmh->bt", arcs.double(), parts.double())
    log_partition, marginals = matrix_tree(arcs)
    torch.testing.assert_close(log_partition, scores.logsumexp(-1), rtol=1e-12, atol=1e-12)
    expected = torch.einsum("bt,tmh->bmh", scores.softmax(-1), parts.double())
    torch.testing.assert_close(marginals, expected, rtol=0, atol=1e-12)


def test_large_scores_stay_finite() -> None:
    arcs = 200 * torch.randn(1, 12, 13, generator=torch.Generator().manual_seed(1))
    log_partition, marginals = matrix_tree(arcs)
    assert log_partition.isfinite().all()
    torch.testing.assert_close(marginals.sum(-1), torch.ones(1, 12, dtype=torch.float64))
    torch.testing.assert_close(marginals[..., 0].sum(), torch.tensor(1.0, dtype=torch.float64))
