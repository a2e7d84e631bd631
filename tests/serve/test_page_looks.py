"""What the page looks like: on a phone, in the dark, where there is more than fits, where there is no answer."""

import io
import re

import pytest
from tests.serve.asking import PLAYWRIGHT, at

Image = pytest.importorskip("PIL.Image", reason="needs Pillow: pip install pillow")
sync_api = pytest.importorskip("playwright.sync_api", reason=PLAYWRIGHT)
expect = sync_api.expect

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("view", ["marginals", "kbest"])
def test_nothing_is_wider_than_a_phone(opened, view, tmp_path):
    page = opened(
        at("the old shy cat sees a wet red dog " * 4, view=view), viewport={"width": 360, "height": 740}
    )
    expect(page.locator("figure").first).to_be_visible()
    wide = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide[0] <= wide[1]
    inside = page.evaluate(
        "(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)(document.querySelector('.scroll'))"
    )
    assert inside
    page.screenshot(path=str(tmp_path / f"phone-{view}.png"), full_page=True)


@pytest.mark.parametrize("name", ["Mode", "Marginals", "Samples", "k-best", "SparseMAP"])
def test_all_tabs_are_to_be_seen_on_a_phone(opened, name):
    page = opened(at(model="parser"), viewport={"width": 360, "height": 740})
    page.get_by_role("tab", name=name).click()
    right = page.eval_on_selector_all(
        "[role=tab]",
        "tabs => tabs.map(tab => tab.getBoundingClientRect().right - tab.parentNode.clientWidth)",
    )
    left = page.evaluate("document.getElementById('tabs').getBoundingClientRect().left")
    assert max(right) <= left + 1


def test_fields_keep_their_names_and_values_for_screen_readers_on_a_phone(opened):
    page = opened(at(model="parser", temperature="0.3"), viewport={"width": 360, "height": 740})
    expect(page.get_by_role("combobox", name="Model", exact=True)).to_have_value("parser")
    expect(page.get_by_role("slider")).to_have_attribute("aria-valuetext", "2.00")


def test_a_probability_that_is_no_number_of_the_page_is_shown_as_a_bound(opened):
    page = opened(at("the old cat sees " * 30, model="parser", view="samples", temperature="1", k="2"))
    caption = page.locator("figcaption:not(.legend)").first
    expect(caption).to_contain_text(re.compile(r"probability (< 1e-300|\de-\d\d+)$"))
    shown = page.evaluate("import('/elements.js').then(({ short }) => [0, 1e-301, 2e-300, 0.5].map(short))")
    assert shown == ["< 1e-300", "< 1e-300", "2e-300", "0.50"]


def test_what_belongs_to_another_sentence_goes_when_there_is_no_answer(opened):
    page = opened(at(model="parser", view="marginals"))
    expect(page.locator("figure")).to_have_count(1)
    page.get_by_label("Sentence").fill("a " * 151)
    expect(page.get_by_role("alert")).to_contain_text("the text has 151 words")
    expect(page.locator("figure")).to_have_count(0)
    expect(page.locator("#alternatives")).to_be_hidden()


def test_what_belongs_to_other_conditions_is_grey_when_there_is_no_answer(opened):
    page = opened(at(model="parser"))
    expect(page.locator("figure")).to_have_count(1)
    page.evaluate("location.hash += '&required=arc.1.2&required=arc.2.1'")
    expect(page.get_by_role("alert")).to_contain_text("no structure has all required parts")
    expect(page.locator("#answer")).to_have_css("opacity", "0.35")
    page.locator("#conditions button").first.click()
    expect(page.locator("#answer")).to_have_css("opacity", "1")


def edges(scroll):
    """How bright the left and the right edge are, above what is drawn."""
    image = Image.open(io.BytesIO(scroll.screenshot())).convert("L")
    return image.getpixel((1, 3)), image.getpixel((image.width - 2, 3))


def test_the_edge_beyond_which_there_is_more_is_in_the_shade(opened):
    page = opened(
        at("the old cat sees " * 9, model="parser", view="kbest"), viewport={"width": 700, "height": 700}
    )
    expect(page.locator("figure")).to_have_count(6)
    scroll = page.locator(".scroll").first
    left, right = edges(scroll)
    assert right < 230 < left
    scroll.evaluate("element => { element.scrollLeft = element.scrollWidth; }")
    left, right = edges(scroll)
    assert left < 230 < right


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark(opened, scheme, tmp_path):
    page = opened(at(model="parser", view="marginals"), color_scheme=scheme)
    expect(page.locator("figure")).to_have_count(1)
    background, ink = page.evaluate(
        "[getComputedStyle(document.body).backgroundColor, "
        "getComputedStyle(document.querySelector('#panel .form')).fill]"
    )
    assert (_brightness(background) < _brightness(ink)) == (scheme == "dark")
    assert abs(_brightness(background) - _brightness(ink)) > 150
    page.screenshot(path=str(tmp_path / f"{scheme}.png"), full_page=True)


def _brightness(colour):
    return sum(map(int, re.findall(r"\d+", colour)[:3])) / 3
