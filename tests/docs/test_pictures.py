"""The pictures and numbers of the documentation are those that its script computes, and can be read."""

import re
import sys
from xml.etree import ElementTree

import pytest
import torch
from tests.docs.pages import DOCS, script, text_of

from strukt.viz.canvas.colour import luminance
from strukt.viz.canvas.svg import text_width

PAGE, GALLERY = (text_of(DOCS / "concepts" / name) for name in ("one-idea.md", "gallery.md"))
SVG = "{http://www.w3.org/2000/svg}"


pictures = script("pictures")
gallery, shapes = pictures.gallery, sys.modules["shapes"]
ALL = pictures.PICTURES | gallery.PICTURES


EVERY = pictures.every()
SHOWN = [
    (page, name)
    for page in sorted(DOCS.rglob("*.md"))
    for name in re.findall(r"\]\((\S+\.(?:svg|png))\)", text_of(page))
]


@pytest.mark.parametrize("path", EVERY, ids=lambda path: path.name)
def test_committed_pictures_are_what_the_script_writes(path):
    assert text_of(path) == EVERY[path](), "redraw them: python docs/pictures.py"


@pytest.mark.parametrize(("page", "name"), SHOWN, ids=[f"{page.stem}: {name}" for page, name in SHOWN])
def test_every_picture_is_made_by_a_command(page, name):
    path = page.parent / name
    assert path.exists()
    text = text_of(page)
    assert path in EVERY or re.search(rf"^\$? ?strukt .*(?:\\\n.*)*--svg {path.name}$", text, re.MULTILINE)


def test_every_picture_is_shown():
    assert set(DOCS.rglob("*.svg")) == {page.parent / name for page, name in SHOWN}


def test_the_page_shows_every_picture_and_its_numbers():
    assert set(re.findall(r"images/(\S+\.svg)", PAGE)) == set(pictures.PICTURES)
    assert pictures.table() in PAGE
    assert set(re.findall(r"images/(\S+\.svg)", GALLERY)) == set(gallery.PICTURES)
    assert gallery.supports() in GALLERY
    assert gallery.structures() in GALLERY


def test_the_gallery_draws_the_scores_that_its_page_shows():
    blocks = re.findall(r"^```python\n(.*?)^```", GALLERY, re.MULTILINE | re.DOTALL)
    shown = {}
    exec("\n".join(blocks), shown)
    for name, drawn in {
        "scores": gallery.SCORES,
        "tags": gallery.TAG_SCORES,
        "follows": gallery.FOLLOWS,
        "arcs": gallery.ARCS,
        "pairs": gallery.PAIRS,
    }.items():
        assert torch.equal(shown[name], drawn)


@pytest.mark.parametrize("name", ALL)
def test_texts_lie_within_the_picture(name):
    root = ElementTree.fromstring(ALL[name]())
    width, height = float(root.get("width")), float(root.get("height"))
    for text in root.iter(f"{SVG}text"):
        half = text_width(text.text, 15.0) / 2
        assert half <= float(text.get("x")) <= width - half, text.text
        assert 15 <= float(text.get("y")) <= height - 4, text.text


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_colours_of_texts_stand_out_from_the_paper(scheme):
    """By the contrast of the Web Content Accessibility Guidelines, 4.5 for small text."""
    rules = re.findall(r"svg \{(.*?)\}", shapes.STYLE, re.DOTALL)
    colours = dict(re.findall(r"--(\w+): (#\w+)", rules[scheme]))
    paper = luminance(colours["paper"])
    for role in ("ink", "quiet", "map", "marginals", "sparsemap", "field"):
        bright, dark = sorted((paper, luminance(colours[role])), reverse=True)
        assert (bright + 0.05) / (dark + 0.05) > 4.5, role
    for role in gallery.ANSWERS:  # the numbers in the cells of heat maps
        cell = _blend(colours[role], colours["paper"], gallery.SHADE)
        bright, dark = sorted((luminance(cell), luminance(colours["ink"])), reverse=True)
        assert (bright + 0.05) / (dark + 0.05) > 4.5, role


def _blend(colour, paper, share):
    pairs = [(int(colour[i : i + 2], 16), int(paper[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(share * over + (1 - share) * under):02x}" for over, under in pairs)


def test_a_heat_map_has_each_probability_at_its_words():
    texts = [
        (text.text, text.get("x"), text.get("y"))
        for text in ElementTree.fromstring(ALL["matchings.svg"]()).iter(f"{SVG}text")
    ]
    across = next(x for content, x, _ in texts if content == "white")
    down = next(y for content, _, y in texts if content == "bianca")
    (cell,) = (content for content, *place in texts if place == [across, down])
    assert cell == shapes.number(gallery.Matching(gallery.PAIRS).marginals[1, 2].item(), 2)


def test_answers_are_where_the_page_says():
    best, marginals, sparse, field = pictures.results()
    assert best.weights.max() == 1
    assert (marginals.weights > 0).all()
    assert (sparse.weights > 0).sum() == 2
    first, second, both = field.mean
    assert both == pytest.approx(first * second)
    for answer in (best, marginals, sparse, field):
        assert answer.weights.sum().item() == pytest.approx(1)


def test_every_answer_is_the_best_for_its_regulariser():
    """No point of a fine net over the polytope has a higher value."""
    generator = torch.Generator().manual_seed(0)
    some = -torch.rand(20000, 4, generator=generator, dtype=torch.float64).log()
    weights = some / some.sum(-1, keepdim=True)
    scores = torch.tensor([0, 1.2, 0.8, -2.0], dtype=torch.float64)
    ones = pictures.STRUCTURES.double()
    gain, means = weights @ scores, weights @ ones
    best, marginals, sparse, field = pictures.results()
    assert gain.max() <= best.value
    assert (gain + torch.special.entr(weights).sum(-1)).max() <= marginals.value
    assert (gain - 0.5 * means.square().sum(-1)).max() <= sparse.value
    product = torch.where(ones == 1, means[:, None], 1 - means[:, None]).prod(-1)
    assert (product @ scores + torch.special.entr(product).sum(-1)).max() <= field.value + 1e-9
