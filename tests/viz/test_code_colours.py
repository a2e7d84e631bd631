"""Codes that differ little look alike."""

import random

import pytest
from scipy.stats import spearmanr

from strukt.viz.canvas.colour import channels, luminance
from strukt.viz.code_colours import code_colours


def vocabulary(seed, bits, size=40):
    generator = random.Random(seed)
    return generator.sample(range(2**bits), size)


def correlation(codes, bits):
    """Of Hamming distances and distances between colours, by rank."""
    colours = code_colours(codes, bits, codes)
    pairs = [(first, second) for first in codes for second in codes if first < second]
    hamming = [(first ^ second).bit_count() for first, second in pairs]
    seen = [
        sum((a - b) ** 2 for a, b in zip(channels(colours[first]), channels(colours[second]), strict=True))
        for first, second in pairs
    ]
    return spearmanr(hamming, seen).statistic


@pytest.mark.parametrize("bits", [6, 16])
@pytest.mark.parametrize("seed", range(2))
def test_near_codes_have_near_colours_even_where_nothing_can_be_learnt(seed, bits):
    assert correlation(vocabulary(seed, bits), bits) > 0.3


@pytest.mark.parametrize("seed", range(3))
def test_clusters_of_codes_are_clusters_of_colours(seed):
    """As a trained model has them: a few labels, whose codes differ in one bit or none."""
    generator = random.Random(seed)
    centres = vocabulary(seed, 10, 6)
    codes = sorted({centre ^ (1 << generator.randrange(10)) for centre in centres for _ in range(6)})
    assert correlation(codes, 10) > 0.6


def test_equal_codes_have_equal_colours_whatever_else_is_drawn():
    known = vocabulary(0, 8)
    every = code_colours(known, 8, known)
    assert all(code_colours([code, code], 8, known) == {code: every[code]} for code in known)


def test_order_and_repetition_of_the_vocabulary_do_not_matter():
    known = vocabulary(1, 8)
    assert code_colours(known, 8, known) == code_colours(known[::-1], 8, [*known[::-1], *known[:7]])


def test_all_codes_there_are_differ_by_their_first_bits():
    colours = code_colours(range(16), 4, range(16))
    assert len(set(colours.values())) == 8, "three components of four equal ones"
    assert colours[0b0000] == colours[0b1000] != colours[0b0001]


def test_an_unknown_code_has_the_colour_of_its_place():
    known = [0b000000, 0b000111, 0b111000, 0b111111]
    colours = code_colours([*known, 0b000011], 6, known)
    distances = {
        code: sum(abs(a - b) for a, b in zip(channels(colours[code]), channels(colours[3]), strict=True))
        for code in known
    }
    assert min(distances, key=distances.get) == 0b000111


@pytest.mark.parametrize("codes", [[], [5], [0, 1]])
def test_few_codes(codes):
    assert sorted(code_colours(codes, 3, codes)) == codes


@pytest.mark.parametrize("bits", [4, 8, 16])
def test_colours_stand_out_from_black_and_from_white(bits):
    codes = vocabulary(2, bits, 16)
    for colour in code_colours(codes, bits, codes).values():
        assert (luminance(colour) + 0.05) / 0.05 > 3
        assert 1.05 / (luminance(colour) + 0.05) > 3
