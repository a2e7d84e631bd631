"""Two models side by side on the page."""

import pytest
from tests.serve import models
from tests.serve.asking import PLAYWRIGHT, at
from tests.serve.models import TEXT

sync_api = pytest.importorskip("playwright.sync_api", reason=PLAYWRIGHT)
expect = sync_api.expect

pytestmark = pytest.mark.slow

PARSERS = {"parser": models.parser, "projective": lambda: models.parser(trees="projective")}


def arcs(name):
    """Head and relation of each word of the text."""
    return next(PARSERS[name]().predict(TEXT)).arcs


def test_another_model_is_chosen_and_put_away(opened):
    page = opened(at(model="parser"))
    expect(page.locator("#second")).to_be_hidden()
    page.get_by_label("Compare with").select_option("tagger")
    expect(page.locator("#second .tag")).to_have_count(6)
    expect(page.locator("#second figcaption")).to_contain_text("tagger")
    expect(page.locator("#panel [data-word]")).to_have_count(6)
    assert "beside=tagger" in page.url
    page.get_by_label("Model").select_option("tagger")  # one model is not beside itself
    expect(page.locator("#panel .tag")).to_have_count(6)
    expect(page.locator("#second")).to_be_hidden()
    assert "beside" not in page.url


def test_what_is_typed_is_read_by_both(opened):
    page = opened(at(model="parser", beside="tagger"))
    expect(page.locator("#second .form")).to_have_count(6)
    page.get_by_label("Sentence").fill("a dog eats")
    for panel in ("#panel", "#second"):
        expect(page.locator(f"{panel} .form")).to_have_text(["a", "dog", "eats"])
    page.get_by_label("Sentence").fill("")
    expect(page.locator("figure")).to_have_count(0)


@pytest.mark.parametrize("second", ["ner", "constituency"])
def test_every_view_is_beside_the_same(opened, second):
    page = opened(at(model="parser", beside=second))
    for view in ("Marginals", "Samples", "k-best", "SparseMAP", "Mode"):
        page.get_by_role("tab", name=view).click()
        expect(page.locator("#second figure")).to_have_count(1)
        expect(page.locator("#second .differs")).to_have_count(0)


def test_where_two_parsers_differ_is_marked_and_counted(opened_at):
    served = {name: make() for name, make in PARSERS.items()}
    page = opened_at(served, at(model="parser", beside="projective"))
    different = [word for word, both in enumerate(zip(arcs("parser"), arcs("projective"), strict=True), 1)
                 if both[0] != both[1]]  # fmt: skip
    assert different
    expect(page.locator("#second .difference")).to_have_text(f"differs in {len(different)} of 6")
    marked = page.locator("#second .differs").evaluate_all("all => all.map(each => Number(each.dataset.word))")
    assert sorted(marked) == different


def test_conditions_are_those_of_both(opened_at):
    served = {name: make() for name, make in PARSERS.items()}
    required = [f"{word}.{head}" for word, (head, _) in enumerate(arcs("parser"), 1) if word < 4]
    fragment = at(model="projective", beside="parser") + "".join(f"&required=arc.{part}" for part in required)
    page = opened_at(served, fragment)
    expect(page.locator("#conditions .required")).to_have_count(3)
    for part in required:
        word, head = part.split(".")
        for panel in ("#panel", "#second"):
            expect(page.locator(f'{panel} [data-word="{word}"]')).to_have_attribute("data-head", head)


def test_a_model_alone_has_none_beside(opened_at):
    page = opened_at({"tagger": models.tagger()}, at(beside="parser"))
    expect(page.locator("#panel .tag")).to_have_count(6)
    expect(page.get_by_label("Compare with")).to_be_hidden()
    expect(page.locator("#second")).to_be_hidden()
