"""Numbers and sentences of pictures."""

import pytest

from strukt.viz.canvas.wording import shorten, with_probability


@pytest.mark.parametrize(
    ("probability", "text"), [(0.0, ".00"), (0.994, ".99"), (0.996, "1.0"), (1.0, "1.0")]
)
def test_probabilities_have_two_digits(probability, text):
    assert shorten(probability) == text
    assert with_probability("x", probability) == f"x {text}"
