"""Wu and Tu (2023), appendix C, equations of Shaw et al. (2018): the Transformer that is compared with."""

import math

import pytest
import torch

from strukt.nn import Transformer


@pytest.mark.parametrize("distance_values", [True, False])
def test_relative_attention_adds_distances_to_keys_and_values(distance_values):
    torch.manual_seed(0)
    n, heads, size, reach = 6, 2, 4, 2
    options = {"positions": "relative", "reach": reach, "distance_values": distance_values}
    attention = Transformer(8, heads * size, heads=heads, **options).double().layers[0].attention
    x = torch.randn(1, n, 8, dtype=torch.float64)
    projected = attention.project(x[0]).view(n, 3, heads, size).tolist()
    of_keys = attention.distances.tolist()
    nothing = torch.zeros(2 * reach + 1, size)
    of_values = (attention.distance_values if distance_values else nothing).tolist()
    seen = [[i == j or (i + j) % 3 > 0 for j in range(n)] for i in range(n)]
    z = torch.zeros(n, heads, size, dtype=torch.float64)
    for head in range(heads):
        for i in range(n):
            query = projected[i][0][head]
            clip = [max(-reach, min(reach, j - i)) + reach for j in range(n)]
            e = [
                sum(query[k] * (projected[j][1][head][k] + of_keys[clip[j]][k]) for k in range(size))
                / math.sqrt(size)
                for j in range(n)
            ]
            total = sum(math.exp(e[j]) for j in range(n) if seen[i][j])
            for j in range(n):
                if seen[i][j]:
                    for k in range(size):
                        value = projected[j][2][head][k] + of_values[clip[j]][k]
                        z[i, head, k] += math.exp(e[j]) / total * value
    found = attention(x, torch.tensor([seen]))[0]
    torch.testing.assert_close(found, attention.output(z.flatten(1)))
