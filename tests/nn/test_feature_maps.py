"""Feature maps: their kernels, their signs, and transitions of hidden Markov models made from them."""

import copy
import math

import pytest
import torch

from strukt import HMM, LowRank
from strukt.nn import (
    ExponentialFeatures,
    FourierFeatures,
    LinearFeatures,
    NystromFeatures,
    SoftplusFeatures,
)
from strukt.nn.feature_maps import FEATURE_MAPS, FLOOR, feature_map, normal_rows


def points(count=6, size=4, scale=0.4):
    return scale * torch.randn(count, size, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def kernel(features, x):
    logs = features(x)
    return (logs.unsqueeze(1) + logs).logsumexp(-1).exp()


MAPS = {
    "exponential": lambda: ExponentialFeatures(4, 10),
    "random": lambda: ExponentialFeatures(4, 10, learn=False),
    "linear": lambda: LinearFeatures(4, 10),
    "softplus": lambda: SoftplusFeatures(4, 10),
    "fourier": lambda: FourierFeatures(4, 10),
    "nystrom": lambda: NystromFeatures(points(10)),
}


@pytest.fixture(params=MAPS)
def features(request):
    torch.manual_seed(0)
    return MAPS[request.param]().double()


@pytest.mark.parametrize("orthogonal", [True, False])
def test_exponential_features_estimate_the_kernel_of_attention(orthogonal):
    torch.manual_seed(0)
    x = points(scale=0.25)
    found = kernel(ExponentialFeatures(4, 40_000, orthogonal=orthogonal).double(), x)
    assert torch.allclose(found, (x @ x.mT).exp(), rtol=0.05)


def test_orthogonal_rows_have_the_lengths_of_normal_ones():
    torch.manual_seed(0)
    rows = normal_rows(5, 12, True)
    for first in (0, 5, 10):
        group = rows[first : first + 5]
        products = group @ group.mT
        assert torch.allclose(products, products.diagonal().diag(), atol=1e-5)
    many = normal_rows(5, 20_000, True)
    assert abs(many.square().sum(1).mean() - 5) < 0.1
    assert many.mean(0).abs().max() < 0.05


def test_fourier_features_estimate_a_raised_gaussian():
    torch.manual_seed(0)
    x = points()
    gaussian = (-torch.cdist(x, x).square() / 2).exp()
    found = kernel(FourierFeatures(4, 40_000).double(), x)
    assert torch.allclose(found, 1 + gaussian / 2, rtol=0.02)


def test_nystrom_features_are_exact_at_landmarks_where_none_is_negative():
    x = torch.eye(4, dtype=torch.float64)
    gaussian = (-torch.cdist(x, x).square() / 2).exp()
    assert torch.allclose(kernel(NystromFeatures(x).double(), x), gaussian, rtol=1e-6)


def test_nystrom_features_do_not_depend_on_the_origin():
    x = points().float() + 512
    gaussian = (-torch.cdist(x.double(), x.double()).square() / 2).exp()
    assert torch.allclose(kernel(NystromFeatures(x), x).double(), gaussian, rtol=1e-3)


def test_landmarks_learn_though_eigenvalues_are_equal():
    """The derivative is that of the root, also where eigenvectors are any."""
    torch.manual_seed(0)
    features, x = NystromFeatures(torch.eye(4)).double(), points()
    loss = features(x).sum()
    found = torch.autograd.grad(loss, features.landmarks)[0]
    for place in ((0, 0), (2, 1)):
        step = torch.zeros(4, 4, dtype=torch.float64)
        step[place] = 1e-6
        with torch.no_grad():
            change = [
                NystromFeatures(features.landmarks + sign * step)(x).sum().item() for sign in (1, -1)
            ]
        assert found[place].item() == pytest.approx((change[0] - change[1]) / 2e-6, rel=1e-5)


def test_landmarks_learn_though_some_eigenvalues_are_raised():
    apart = torch.eye(3).double()
    landmarks = torch.cat([apart, apart[:1] + 6e-4, apart[1:2] + 1.4e-3])
    features, x = NystromFeatures(landmarks), points(size=3)
    eigenvalues = torch.linalg.eigvalsh(features._kernel(landmarks, landmarks))
    assert eigenvalues[0] < FLOOR < eigenvalues[1] < 5 * FLOOR
    direction, step = torch.linspace(-1, 1, 15).double().reshape(5, 3), 1e-7
    weights = torch.linspace(1, 2, len(x) * 5).double().reshape(len(x), 5)
    (features(x).exp() * weights).sum().backward()
    values = [
        (NystromFeatures(landmarks + sign * step * direction)(x).exp() * weights).sum() for sign in (1, -1)
    ]
    expected = (values[0] - values[1]) / (2 * step)
    torch.testing.assert_close((features.landmarks.grad * direction).sum(), expected, rtol=1e-4, atol=0)


def test_landmarks_may_coincide():
    features = NystromFeatures(torch.ones(3, 4)).double()
    features(points()).sum().backward()
    assert features.landmarks.grad.isfinite().all()


def test_maps_have_names():
    kinds = [type(feature_map(name, 4, 10)) for name in FEATURE_MAPS]
    exponential = ExponentialFeatures
    assert kinds == [LinearFeatures, exponential, exponential, FourierFeatures, NystromFeatures]
    assert [len(list(feature_map(name, 4, 10).parameters())) for name in FEATURE_MAPS] == [2, 1, 0, 0, 1]
    for name in FEATURE_MAPS:
        assert feature_map(name, 4, 10)(torch.zeros(3, 4)).shape == (3, 10)
    assert "rows" in feature_map("favor", 4, 10).state_dict()
    with pytest.raises(ValueError, match="name is 'cosine'; expected one of linear, exponential"):
        feature_map("cosine", 4, 10)


def test_features_are_finite_wherever_vectors_are(features):
    for scale in (0.0, 1.0, 100.0):
        x = points(scale=scale).requires_grad_()
        found = features(x)
        assert found.shape == (6, 10)
        assert found.isfinite().all()
        assert torch.autograd.grad(found.sum(), x)[0].isfinite().all()
    assert features(points().view(2, 3, 4)).shape == (2, 3, 10)


def test_softplus_far_below_zero_is_the_exponential():
    torch.manual_seed(0)
    features = SoftplusFeatures(1, 1).double()
    torch.nn.init.ones_(features.linear.weight)
    torch.nn.init.zeros_(features.linear.bias)
    x = torch.tensor([[-500.0], [-15.1], [-14.9], [0.0], [50.0]], dtype=torch.float64)
    exact = torch.tensor([-500.0, -15.1, -14.9, math.log(math.log(2.0)), math.log(50.0)], dtype=torch.float64)
    assert torch.allclose(features(x)[:, 0], exact, atol=1e-6)


def test_linear_features_are_exponentials_of_any_size():
    torch.manual_seed(0)
    features, x = LinearFeatures(64, 500), torch.nn.functional.normalize(torch.randn(20, 64), dim=1)
    found = features(x)
    torch.testing.assert_close(found, x @ features.weight.mT + features.bias)
    assert 0.8 < found.var().item() < 1.2


def test_transitions_of_features_learn(features):
    """A few steps of gradient descent raise the likelihood of sentences."""
    embeddings = torch.nn.Parameter(points(6))
    x = torch.randint(3, (8, 7), generator=torch.Generator().manual_seed(1))
    emission = torch.nn.Parameter(points(6, 3, 1.0))
    optimizer = torch.optim.Adam([embeddings, emission, *features.parameters()], 0.05)
    losses = []
    for _ in range(5):
        transition = LowRank(features(embeddings), features(embeddings.flip(1)))
        loss = -HMM(torch.zeros(6, dtype=torch.float64), transition, emission).log_prob(x).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    assert embeddings.grad.abs().sum() > 0


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", FEATURE_MAPS)
def test_half_types(name, dtype):
    """Fourier features near 0 and inverse roots need float32."""
    torch.manual_seed(0)
    half = feature_map(name, 4, 60).to(dtype)
    x = torch.randn(50, 4).to(dtype).requires_grad_()
    full = copy.deepcopy(half).float()
    torch.testing.assert_close(half(x).float(), full(x.float()), atol=0.1, rtol=0.02)
    (grad,) = torch.autograd.grad(half(x).float().sum(), x)
    assert grad.isfinite().all()


def test_landmarks_and_their_width_are_checked():
    with pytest.raises(ValueError, match=r"landmarks has shape \(4,\); expected \(features, size\)"):
        NystromFeatures(torch.zeros(4))
    with pytest.raises(ValueError, match=r"landmarks has dtype torch\.int64; expected a floating-point tensor"):
        NystromFeatures(torch.zeros(2, 4, dtype=torch.int64))
    with pytest.raises(ValueError, match="width is 0; expected a finite number above 0"):
        NystromFeatures(torch.zeros(2, 4), 0)
