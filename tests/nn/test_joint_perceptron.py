"""The perceptron over several vectors: that of their concatenation."""

import pytest
import torch

from strukt.nn import JointPerceptron


def test_it_is_a_perceptron_of_the_concatenation():
    torch.manual_seed(0)
    score = JointPerceptron(2, 3, 4, hidden=5).double()
    x, y, z = (torch.randn(size, dtype=torch.float64) for size in (2, 3, 4))
    matrix = torch.cat([layer.weight for layer in score.inputs], 1)
    hidden = torch.tanh(matrix @ torch.cat([x, y, z]) + score.inputs[0].bias)
    torch.testing.assert_close(score(x, y, z), score.output.weight[0] @ hidden + score.output.bias[0])


def test_vectors_broadcast():
    torch.manual_seed(0)
    score, x, y = JointPerceptron(2, 3, hidden=4), torch.randn(7, 2), torch.randn(5, 1, 3)
    found = score(x, y)
    assert found.shape == (5, 7)
    torch.testing.assert_close(found[3, 2], score(x[2], y[3, 0]))


def test_there_is_a_vector():
    with pytest.raises(ValueError, match="sizes is empty; expected the size of at least one vector"):
        JointPerceptron(hidden=4)


@pytest.mark.parametrize("sizes", [(2,), (2, 3, 3), (2, 4)])
def test_there_is_a_vector_for_each_size(sizes):
    with pytest.raises(ValueError, match=r"vectors have shapes \[\(5, 2\).*for each of the sizes \[2, 3\]"):
        JointPerceptron(2, 3, hidden=4)(*(torch.zeros(5, size) for size in sizes))
