"""Feature maps of positive kernels, in log space: low-rank transitions from embeddings of states.

Each map takes vectors ``(*, size)`` to ``(*, features)``, the logs of positive features, as `strukt.LowRank`
expects them:

    features = ExponentialFeatures(64, 256)
    transition = LowRank(features(source), features(target))

Features that approximate a kernel by cosines, or by projection onto landmarks, may be negative, but probabilities
may not. The maps here make such features positive; each class says how.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from strukt.checks import arguments
from strukt.kernels.full_precision import full_precision
from strukt.nn.inputs import precise, require_sizes

FLOOR = 1e-6
"""The smallest feature of maps that could otherwise return 0 or less."""

FEATURE_MAPS = ("linear", "exponential", "favor", "fourier", "nystrom")
"""The names that `feature_map` accepts."""


def feature_map(name: str, size: int, features: int) -> nn.Module:
    """Return a new feature map by its name.

    Args:
        name: ``linear`` for `LinearFeatures`; ``exponential`` for `ExponentialFeatures` with learned rows, or
            ``favor`` with fixed random rows; ``fourier`` for `FourierFeatures`; or ``nystrom`` for
            `NystromFeatures` with landmarks that start at random vectors of length about 1.
        size: Size of the vectors.
        features: Number of features.

    Raises:
        ValueError: If the name is unknown, or a size is less than 1.

    Examples:
        >>> feature_map("favor", 16, 32)(torch.randn(5, 16)).shape
        torch.Size([5, 32])
    """
    if name == "linear":
        return LinearFeatures(size, features)
    if name in ("exponential", "favor"):
        return ExponentialFeatures(size, features, learn=name == "exponential")
    if name == "fourier":
        return FourierFeatures(size, features)
    if name == "nystrom":
        return NystromFeatures(torch.randn(features, size) * size**-0.5)
    raise ValueError(f"name is {name!r}; expected one of {', '.join(FEATURE_MAPS)}")


class ExponentialFeatures(nn.Module):
    """Positive random features exp(w · x - |x|^2 / 2) of the kernel exp(x · y), the kernel of softmax attention.

    There is a row w for each feature, drawn from a standard normal distribution. Features are divided by the
    square root of their number, so that the dot product of the features of x and y is an unbiased estimate of the
    kernel. Orthogonal rows reduce its variance (FAVOR+, Choromanski et al. 2021). Low-rank hidden Markov models
    (HMMs) start from such rows and learn them (Chiu, Deng and Rush 2021).

    Args:
        size: Size of the vectors.
        features: Number of features.
        learn: Whether the rows are parameters; otherwise they stay as they were drawn.
        orthogonal: Whether the rows are orthogonal within each group of ``size`` successive rows.

    Raises:
        ValueError: If `size` or `features` is less than 1.

    Examples:
        >>> _ = torch.manual_seed(0)
        >>> features, x, y = ExponentialFeatures(4, 20_000), torch.full((4,), 0.4), torch.full((4,), 0.5)
        >>> (features(x) + features(y)).logsumexp(-1), x @ y  # the logs of the estimate and of the kernel
        (tensor(0.7761, grad_fn=<LogsumexpBackward0>), tensor(0.8000))
    """

    def __init__(self, size: int, features: int, learn: bool = True, orthogonal: bool = True) -> None:
        super().__init__()
        require_sizes(size=size, features=features)
        rows = normal_rows(size, features, orthogonal)
        if learn:
            self.rows = nn.Parameter(rows)
        else:
            self.register_buffer("rows", rows)

    def forward(self, x: Tensor) -> Tensor:
        """Map vectors x, ``(*, size)``, to log-features ``(*, features)``."""
        shift = x.square().sum(-1, keepdim=True) / 2 + math.log(len(self.rows)) / 2
        return x @ self.rows.mT - shift


class LinearFeatures(nn.Linear):
    """Positive features exp(w · x + b) with learned rows w and biases b, for no particular kernel.

    The module is a linear layer, whose outputs are the logs of the features. Rows start from a normal
    distribution, so that log-features of vectors of length 1 have a variance of about 1.

    Args:
        size: Size of the vectors.
        features: Number of features.

    Raises:
        ValueError: If `size` or `features` is less than 1.

    Examples:
        >>> features = LinearFeatures(2, 3)
        >>> features.weight.data = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
        >>> features.bias.data.zero_()
        tensor([0., 0., 0.])
        >>> features(torch.tensor([[0.5, 2.0]])).detach()  # the logs of exp(0.5), exp(2) and exp(2.5)
        tensor([[0.5000, 2.0000, 2.5000]])
    """

    def __init__(self, size: int, features: int) -> None:
        require_sizes(size=size, features=features)
        super().__init__(size, features)

    def reset_parameters(self) -> None:
        """Draw the rows from a standard normal distribution, and the biases as in `torch.nn.Linear`."""
        super().reset_parameters()
        nn.init.normal_(self.weight)


class SoftplusFeatures(nn.Module):
    """Positive features softplus(w · x + b) with learned rows w and biases b, for no particular kernel.

    Args:
        size: Size of the vectors.
        features: Number of features.

    Raises:
        ValueError: If `size` or `features` is less than 1.

    Examples:
        >>> features = SoftplusFeatures(16, 32)
        >>> logs = features(torch.randn(5, 16))
        >>> logs.shape, bool((logs.exp() > 0).all())
        (torch.Size([5, 32]), True)
    """

    def __init__(self, size: int, features: int) -> None:
        super().__init__()
        require_sizes(size=size, features=features)
        self.linear = nn.Linear(size, features)

    def forward(self, x: Tensor) -> Tensor:
        """Map vectors x, ``(*, size)``, to log-features ``(*, features)``."""
        outputs = self.linear(x)
        # Far below 0, softplus(a) is exp(a), which underflows; its log is a.
        small = outputs < -15.0
        return torch.where(small, outputs, nn.functional.softplus(outputs.masked_fill(small, 0.0)).log())


class FourierFeatures(nn.Module):
    """Random Fourier features (RFF) plus 1: 1 + cos(w · x + b), of the kernel 1 + exp(-|x - y|^2 / 2) / 2.

    The rows w and phases b are drawn once, and not learned. Features are divided by the square root of their
    number. They are computed in float32 at least, even under autocast: in half precision, a feature near 0 would
    become 0, and its log infinite.

    The usual features cos(w · x + b) estimate a Gaussian kernel (Rahimi and Recht 2007), but half of them are
    negative. With 1 + 1e-6 added, all are positive, and their dot products are an unbiased estimate of the
    kernel above, up to that 1e-6. It is a Gaussian kernel plus a constant, so that no transition is improbable.

    Args:
        size: Size of the vectors.
        features: Number of features.

    Raises:
        ValueError: If `size` or `features` is less than 1.

    Examples:
        >>> _ = torch.manual_seed(0)
        >>> features, x, y = FourierFeatures(2, 20_000), torch.tensor([0.5, 0.0]), torch.tensor([0.0, 1.0])
        >>> (features(x) + features(y)).logsumexp(-1).exp(), 1 + (-(x - y).square().sum() / 2).exp() / 2
        (tensor(1.2721), tensor(1.2676))
    """

    rows: Tensor
    phase: Tensor

    def __init__(self, size: int, features: int) -> None:
        super().__init__()
        require_sizes(size=size, features=features)
        self.register_buffer("rows", normal_rows(size, features, True))
        self.register_buffer("phase", 2 * math.pi * torch.rand(features))

    @full_precision
    def forward(self, x: Tensor) -> Tensor:
        """Map vectors x, ``(*, size)``, to log-features ``(*, features)``."""
        phase = precise(x) @ precise(self.rows).mT + precise(self.phase)
        raised: Tensor = 1.0 + FLOOR + torch.cos(phase)
        return raised.log() - math.log(len(self.rows)) / 2


class NystromFeatures(nn.Module):
    """Nystrom features K(x, l) K(l, l)^(-1/2) of a Gaussian kernel K: projections onto landmarks l.

    The kernel is K(x, y) = exp(-|x - y|^2 / (2 width^2)).

    The dot product of the features of x and y equals the kernel if x or y is a landmark. Features may be negative:
    those below 1e-6 are raised to it, without a gradient, and the dot product is then not exact. The same holds
    for eigenvalues of K(l, l) below 1e-6. Features are computed in float32 at least, even under autocast,
    because eigendecomposition does not support half precision.

    Source: Williams and Seeger (2001).

    Args:
        landmarks: ``(features, size)``, initial landmarks, such as embeddings of some states; they are copied and
            learned.
        width: Standard deviation of the Gaussian.

    Raises:
        ValueError: If the landmarks are empty or of another shape or type, or the width is not above 0 and finite.

    Complexity: O(m^3) for m landmarks in each call, and O(m (m + size)) for each vector.

    Examples:
        >>> landmarks = torch.tensor([[0.5, 0.0], [0.0, 1.0]])
        >>> logs = NystromFeatures(landmarks)(landmarks)
        >>> (logs[0] + logs[1]).logsumexp(-1).detach()  # the log of the kernel, -(0.5 ** 2 + 1 ** 2) / 2
        tensor(-0.6250)
    """

    def __init__(self, landmarks: Tensor, width: float = 1.0) -> None:
        super().__init__()
        arguments.scores("landmarks", landmarks, "(features, size)", 2)
        if landmarks.dim() != 2 or not landmarks.numel():
            raise ValueError(f"landmarks has shape {tuple(landmarks.shape)}; expected (features, size)")
        if not 0 < width < math.inf:
            raise ValueError(f"width is {width}; expected a finite number above 0")
        self.landmarks = nn.Parameter(landmarks.detach().clone())
        self.width = width

    @full_precision
    def forward(self, x: Tensor) -> Tensor:
        """Map vectors x, ``(*, size)``, to log-features ``(*, features)``."""
        landmarks = precise(self.landmarks)
        root: Tensor = _InverseRoot.apply(self._kernel(landmarks, landmarks))  # type: ignore[no-untyped-call]
        return (self._kernel(precise(x), landmarks) @ root).clamp(min=FLOOR).log()

    def _kernel(self, x: Tensor, landmarks: Tensor) -> Tensor:
        centre = landmarks.detach().mean(0)  # far from 0, squares would cancel
        x, landmarks = x - centre, landmarks - centre
        distance: Tensor = x.square().sum(-1, keepdim=True) + landmarks.square().sum(-1) - 2 * x @ landmarks.mT
        return (-distance.clamp(min=0.0) / (2 * self.width**2)).exp()


class _InverseRoot(torch.autograd.Function):
    """The inverse square root K^(-1/2) of a symmetric matrix, with eigenvalues of at least `FLOOR`.

    Landmarks in many dimensions are nearly equidistant, so that eigenvalues are nearly equal. The derivative of an
    eigendecomposition divides by their differences; the derivative of the root divides only by sums:

        d K^(-1/2) = V (D * V' dK V) V',   D_ij = -1 / (s_i s_j (s_i + s_j)),   s = sqrt(eigenvalues).

    A raised eigenvalue does not change with K: D_ij is 0 if both are raised. If only one is, D_ij is multiplied by
    the difference of the eigenvalues after raising, divided by that before.
    """

    @staticmethod
    def forward(ctx: Any, kernel: Tensor) -> Tensor:
        values, vectors = torch.linalg.eigh(kernel)
        ctx.save_for_backward(values, vectors)
        root: Tensor = vectors * values.clamp(min=FLOOR).rsqrt() @ vectors.mT
        return root

    @staticmethod
    @once_differentiable
    @full_precision
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        values, vectors = ctx.saved_tensors
        raised, floored = values.clamp(min=FLOOR), values < FLOOR
        root = raised.sqrt()
        slopes = -1 / (root * root[:, None] * (root + root[:, None]))
        slopes = slopes.masked_fill(floored & floored[:, None], 0.0)
        one = floored != floored[:, None]
        differences = torch.where(one, values - values[:, None], 1.0)
        slopes = slopes * torch.where(one, (raised - raised[:, None]) / differences, 1.0)
        result: Tensor = vectors @ (slopes * (vectors.mT @ grad @ vectors)) @ vectors.mT
        return result


def normal_rows(size: int, features: int, orthogonal: bool) -> Tensor:
    """Draw normal rows ``(features, size)``; if `orthogonal`, they are orthogonal in each group of ``size``."""
    if not orthogonal:
        return torch.randn(features, size)
    groups, triangles = torch.linalg.qr(torch.randn(-(-features // size), size, size))
    signs = triangles.diagonal(0, -2, -1).sign().unsqueeze(-2)
    directions: Tensor = groups * signs  # without the signs, directions are not uniform
    lengths: Tensor = torch.randn(features, size).norm(dim=1, keepdim=True)
    return directions.flatten(0, 1)[:features] * lengths
