"""Several structures on the page: all in one picture first, single ones behind it by buttons and keys."""

import re

import pytest
from tests.serve.asking import PLAYWRIGHT, at

sync_api = pytest.importorskip("playwright.sync_api", reason=PLAYWRIGHT)
expect = sync_api.expect

pytestmark = pytest.mark.slow

KBEST = {"model": "parser", "view": "kbest", "temperature": "0.5"}


def choice(page, number):
    return page.locator("#choice button").nth(number)


def is_alone(page, number):
    """Whether one figure is to be seen, that of a structure; 0 is the one of all."""
    expect(choice(page, number)).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#choice [aria-pressed=true]")).to_have_count(1)
    expect(page.locator("figure:visible")).to_have_count(1)
    expect(page.locator("figure").nth(number)).to_be_visible()


@pytest.mark.parametrize("view", ["kbest", "samples", "sparsemap"])
def test_all_are_one_picture_first(opened, view):
    page = opened(at(**{**KBEST, "view": view}))
    expect(page.locator("figure .overlay")).to_be_visible()
    is_alone(page, 0)
    assert "alone" not in page.url
    expect(page.locator("figcaption:visible")).to_contain_text("in one picture")


def test_buttons_show_single_ones_and_all_again(opened):
    page = opened(at(**KBEST))
    expect(choice(page, 5)).to_be_visible()
    for number in (2, 5, 0):
        choice(page, number).click()
        is_alone(page, number)
    expect(page.get_by_role("button", name=re.compile(r"^Structure 2 alone, [\d.]+$"))).to_have_count(1)


def test_keys_show_single_ones_and_all_again(opened):
    page = opened(at(**KBEST))
    expect(choice(page, 5)).to_be_visible()
    for key, number in [("3", 3), ("1", 1), ("0", 0), ("5", 5), ("9", 5), ("Escape", 0), ("Control+2", 0)]:
        page.keyboard.press(key)
        is_alone(page, number)
    page.keyboard.press("4")
    expect(choice(page, 4)).to_be_focused()  # so that it is read out


def test_digits_that_are_typed_are_text(opened):
    page = opened(at(**KBEST))
    expect(choice(page, 5)).to_be_visible()
    page.get_by_label("Sentence").press("2")
    page.get_by_label("Number").press("2")
    is_alone(page, 0)


def test_a_link_leads_to_a_single_one_and_another_view_or_sentence_to_all(opened):
    beyond = opened(at(**KBEST, alone="77"))
    expect(choice(beyond, 5)).to_be_visible()
    is_alone(beyond, 0)
    page = opened(at(**KBEST, alone="2"))
    expect(choice(page, 2)).to_be_visible()
    is_alone(page, 2)
    page.get_by_role("tab", name="Samples").click()
    is_alone(page, 0)
    page.keyboard.press("1")
    is_alone(page, 1)
    assert "alone=1" in page.url
    page.get_by_label("Sentence").fill("a dog eats")
    expect(page.locator("#panel .overlay .form")).to_have_count(3)
    is_alone(page, 0)


def test_one_structure_has_no_buttons(opened):
    page = opened(at(model="parser"))
    expect(page.locator("figure")).to_have_count(1)
    expect(page.locator("#choice")).to_be_hidden()
    expect(page.locator("#keys")).to_be_hidden()
    page.keyboard.press("1")
    expect(page.locator("figure")).to_be_visible()


@pytest.mark.parametrize(
    ("model", "shape"),
    [("parser", "[data-head]"), ("tagger", ".tag"), ("constituency", ".label"), ("ner", ".label")],
)
def test_parts_of_the_one_picture_are_required_too(opened, model, shape):
    text = "the mayor of Rome visits Ada ." if model == "ner" else "the old cat sees a dog ."
    page = opened(at(text, **{**KBEST, "model": model}))
    other = page.locator(f"#panel .overlay {shape}").last
    shapes = page.locator(f"#panel .overlay {shape}")
    expect(other).to_be_visible()
    assert all(each.get_attribute("aria-label") for each in shapes.all())
    assert len({each.get_attribute("aria-label") for each in shapes.all()}) == shapes.count()
    other.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#conditions .required")).to_have_count(1)
    expect(page.locator("#panel .overlay .required")).to_be_focused()
    words = page.locator(".overlay .required .label, .overlay text.required")
    assert words.evaluate("element => getComputedStyle(element).fill") == "rgb(15, 123, 79)"


def test_words_of_the_same_form_are_told_apart(opened):
    page = opened(at("the dog sees the dog", model="parser", view="marginals"))
    expect(page.locator("#alternatives h2")).to_have_text(
        ["the (1)", "dog (2)", "sees", "the (4)", "dog (5)"]
    )
    names = [each.get_attribute("aria-label") for each in page.locator("#panel [data-head]").all()]
    assert len({*names}) == 5


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_colours_of_the_one_picture_stand_out(opened, scheme):
    page = opened(at(**KBEST), color_scheme=scheme, viewport={"width": 360, "height": 740})
    expect(page.locator("#panel .overlay .other .arc").first).to_be_visible()
    wide = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide[0] <= wide[1]
    strokes = [
        page.evaluate(
            f"getComputedStyle(document.querySelector('.overlay .{kind} .arc:not(.hit)'))['stroke']"
        )
        for kind in ("first", "other")
    ]
    assert len({*strokes}) == 2
    dashes = page.evaluate("getComputedStyle(document.querySelector('.overlay .other .arc')).strokeDasharray")
    assert dashes != "none"
    assert page.locator("#choice").bounding_box()["height"] < 60  # one line, however many there are
