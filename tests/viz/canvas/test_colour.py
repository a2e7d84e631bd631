"""Colours of terminals, and what can be read on a colour."""

import random

import pytest

from strukt.viz.canvas.colour import channels, ink_on, luminance, terminal_code

LEVELS = (0, 95, 135, 175, 215, 255)


def random_colour(seed):
    return f"#{random.Random(seed).randrange(2**24):06x}"


def shown(code):
    """Red, green and blue of one of the 216 colours of the cube."""
    number = int(code.removeprefix("38;5;")) - 16
    return tuple(LEVELS[number // place % 6] for place in (36, 6, 1))


def test_a_terminal_shows_the_nearest_colour_that_it_has():
    for colour in map(random_colour, range(20)):
        for given, found in zip(channels(colour), shown(terminal_code(colour)), strict=True):
            assert abs(given - found) == min(abs(given - level) for level in LEVELS)


def test_luminance_of_the_ends_and_the_primaries():
    assert luminance("#000000") == 0
    assert luminance("#ffffff") == pytest.approx(1)
    assert luminance("#ff0000") < luminance("#00ff00")


def test_text_can_be_read_on_any_colour():
    for colour in map(random_colour, range(50)):
        dark, light = sorted((luminance(colour), luminance(ink_on(colour))))
        assert (light + 0.05) / (dark + 0.05) > 4.5
