"""Colours for binary codes: codes of small Hamming distance have similar colours."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_LIGHTNESS, _LIGHTNESS_RANGE = 0.575, 0.065  # in OKLab; visible on white and on black
_CHROMA = 0.14
_AXES = 3
_TIE = 1e-3


def code_colours(codes: Iterable[int], bits: int, vocabulary: Iterable[int]) -> dict[int, str]:
    """Return a colour for each code; it depends on the code and the vocabulary only.

    The bits of a code are a point in {-1, +1}^bits, so the squared distance of two codes is four times their
    Hamming distance. The first two principal components of the vocabulary determine hue and chroma, the third
    determines lightness.

    Args:
        codes: The codes that need a colour.
        bits: Number of bits of a code.
        vocabulary: One or more codes whose differences should be most visible; their order has no effect.

    Returns:
        `#rrggbb` for each code. Its contrast with black and with white is at least 3.

    Complexity:
        A singular value decomposition of a matrix of (vocabulary, bits).

    Source:
        The space of colours is OKLab (Ottosson, "A perceptual color space for image processing", 2020).

    Examples:
        >>> near, far, unseen = code_colours([0b0000, 0b1111, 0b0001], 4, [0b0000, 0b1111]).values()
        >>> near == unseen, near == far
        (False, False)
    """
    requested, known = sorted(set(codes)), sorted(set(vocabulary))
    if not requested:
        return {}
    points, frame = _points(requested, bits), _points(known, bits)
    middle = frame.mean(axis=0)
    axes = _principal_axes(frame - middle)
    placed, extent = (points - middle) @ axes, (frame - middle) @ axes
    return dict(zip(requested, _hexadecimal(_rgb(_oklab(placed, extent))), strict=True))


def _points(codes: list[int], bits: int) -> Floats:
    """Return codes as rows of about -1 and +1, `(codes, bits)`.

    The weights of the bits decrease slightly: if all directions vary equally, as among all possible codes, the
    axes would depend on rounding.
    """
    signs = np.array([[2.0 * (code >> bit & 1) - 1.0 for bit in range(bits)] for code in codes])
    weights = 1.0 - _TIE * np.arange(bits, dtype=np.float64)
    return signs * weights


def _principal_axes(centred: Floats) -> Floats:
    """Return the three directions in which rows differ most, as columns; missing directions are 0."""
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    axes = np.zeros((centred.shape[1], _AXES))
    for column, direction in enumerate(directions[:_AXES]):
        size = np.abs(direction)
        largest = np.argmax(size > size.max() - 1e-9)  # the first of equal entries
        axes[:, column] = direction * np.sign(direction[largest])  # the sign of an axis is arbitrary
    return axes


def _oklab(placed: Floats, extent: Floats) -> Floats:
    """Return positions as lightness, a and b, scaled so that the vocabulary (`extent`) fills the range."""
    scale = max(np.hypot(extent[:, 0], extent[:, 1]).max(), 1.0)
    plane = placed[:, :2] / scale
    plane = plane / np.maximum(np.hypot(plane[:, 0], plane[:, 1]), 1.0)[:, None]
    height = np.clip(placed[:, 2] / max(np.abs(extent[:, 2]).max(), 1.0), -1.0, 1.0)
    return np.column_stack([_LIGHTNESS + _LIGHTNESS_RANGE * height, _CHROMA * plane])


_FROM_LAB = np.array(
    [[1, 0.3963377774, 0.2158037573], [1, -0.1055613458, -0.0638541728], [1, -0.0894841775, -1.2914855480]]
)
_TO_RGB = np.array(
    [
        [4.0767416621, -3.3077115913, 0.2309699292],
        [-1.2684380046, 2.6097574011, -0.3413193965],
        [-0.0041960863, -0.7034186147, 1.7076147010],
    ]
)


def _rgb(lab: Floats) -> Floats:
    """Convert OKLab to sRGB in [0, 1]; each channel of colours outside sRGB is clipped."""
    linear = np.clip((lab @ _FROM_LAB.T) ** 3 @ _TO_RGB.T, 0.0, 1.0)
    encoded: Floats = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return encoded


def _hexadecimal(rgb: Floats) -> list[str]:
    return ["#" + "".join(f"{channel:02x}" for channel in row) for row in np.rint(255 * rgb).astype(int)]
