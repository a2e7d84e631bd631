"""The page in a real browser: typed, clicked, steered by keys, shared."""

import re

import pytest
from tests.serve import models
from tests.serve.asking import PLAYWRIGHT, at
from tests.serve.models import TEXT
from tests.serve.server import running

sync_api = pytest.importorskip("playwright.sync_api", reason=PLAYWRIGHT)
expect = sync_api.expect

pytestmark = pytest.mark.slow


def arc(page, word):
    return page.locator(f'#panel [data-word="{word}"]')


def head_of(page, word):
    return arc(page, word).get_attribute("data-head")


def beside(line):
    """A place some pixels from a line, in its first quarter: nobody hits a thin line exactly."""
    return line.evaluate(
        """line => {
            const { x, y } = line.getPointAtLength(line.getTotalLength() / 4).matrixTransform(line.getScreenCTM());
            return [x + 4, y + 4];
        }"""
    )


def test_a_sentence_is_read_as_it_is_typed(opened):
    page = opened()
    page.get_by_label("Sentence").fill("")
    expect(page.locator("figure")).to_have_count(0)
    page.get_by_label("Sentence").press_sequentially("a dog eats")
    expect(page.locator("#panel .form")).to_have_text(["a", "dog", "eats"])
    assert "text=a+dog+eats" in page.url
    expect(page.get_by_role("status")).to_have_text(re.compile(r"\d+ ms"))


def test_what_is_typed_fast_is_asked_once(opened):
    page = opened(at())
    expect(page.locator("figure")).to_have_count(1)
    asked = []
    page.on("request", lambda request: asked.append(request.url) if request.method == "POST" else None)
    page.get_by_label("Sentence").press_sequentially(" that sleeps", delay=5)
    expect(page.locator("#panel .form")).to_have_count(8)
    assert len(asked) == 1


def test_tabs_by_keyboard(opened):
    page = opened(at(model="parser"))
    first = page.get_by_role("tab", name="Mode")
    first.focus()
    for key, name in [("ArrowRight", "Marginals"), ("End", "SparseMAP"), ("ArrowRight", "Mode"),
                      ("ArrowLeft", "SparseMAP"), ("Home", "Mode")]:  # fmt: skip
        page.keyboard.press(key)
        expect(page.get_by_role("tab", name=name)).to_be_focused()
        expect(page.get_by_role("tab", selected=True)).to_have_text(name)
    assert [tab.get_attribute("tabindex") for tab in page.get_by_role("tab").all()] == [
        "0",
        "-1",
        "-1",
        "-1",
        "-1",
    ]


def test_an_arc_is_required_and_forbidden_by_clicks(opened):
    page = opened(at(model="parser", view="marginals", temperature="0.7"))
    expect(page.locator("figure")).to_have_count(1)
    best = head_of(page, 3)
    option = page.locator(f'#alternatives [data-key^="arc.3."]:not([data-key="arc.3.{best}"])').first
    other = option.get_attribute("data-key").removeprefix("arc.3.")
    option.click()
    expect(arc(page, 3)).to_have_attribute("data-head", other)
    expect(arc(page, 3)).to_have_class(re.compile("required"))
    expect(page.get_by_role("button", name=re.compile("^required"))).to_have_count(1)
    page.mouse.click(*beside(arc(page, 3).locator(".arc")))
    expect(arc(page, 3)).not_to_have_attribute("data-head", other)
    expect(page.get_by_role("button", name=re.compile("^forbidden"))).to_have_count(1)
    assert f"forbidden=arc.3.{other}" in page.url
    page.get_by_role("button", name=re.compile("^forbidden")).click()
    expect(arc(page, 3)).to_have_attribute("data-head", best)
    expect(page.locator("#conditions button")).to_have_count(0)


def test_an_arc_is_required_and_forbidden_by_keys_and_keeps_the_focus(opened):
    page = opened(at(model="parser"))
    expect(page.locator("figure")).to_have_count(1)
    best = head_of(page, 3)
    arc(page, 3).focus()
    page.keyboard.press("Enter")
    expect(arc(page, 3)).to_have_class(re.compile("required"))
    expect(arc(page, 3)).to_be_focused()
    page.keyboard.press(" ")
    chip = page.get_by_role("button", name=re.compile("^forbidden"))
    expect(chip).to_be_focused()
    assert head_of(page, 3) != best
    page.keyboard.press("Enter")
    expect(arc(page, 3)).to_have_attribute("data-head", best)
    expect(arc(page, 3)).to_be_focused()
    assert "required" not in page.url
    assert "forbidden" not in page.url


def test_every_arc_can_be_reached_by_the_tab_key_and_tells_its_name(opened):
    page = opened(at(model="parser"))
    expect(page.locator("figure")).to_have_count(1)
    page.locator("#link").focus()
    names = []
    for _ in TEXT.split():
        page.keyboard.press("Tab")
        names.append(page.evaluate("document.activeElement.getAttribute('aria-label')"))
    assert len({*names}) == len(TEXT.split())
    assert all(re.fullmatch(r"\w+ → \w+ \w+: free", name) for name in names)


def test_a_link_restores_everything(opened):
    page = opened(at(model="parser"))
    page.get_by_role("tab", name="k-best").click()
    page.get_by_label("Temperature").fill("0.5")
    page.get_by_label("Number").fill("3")
    expect(page.locator("figure")).to_have_count(4)
    arc(page, 1).first.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#panel .required")).to_have_count(4)
    shown, address = page.locator("#panel").inner_html(), page.url
    again = opened(address.split("#")[1])
    expect(again.locator("#panel .required")).to_have_count(4)
    assert again.locator("#panel").inner_html() == shown
    assert again.locator("#degrees").text_content() == "3.16"
    assert again.url == address


def test_an_odd_link_is_taken_as_far_as_it_makes_sense(opened):
    page = opened(at(model="nobody", view="best", temperature="x", required="?", k="3"))
    expect(page.locator("figure")).to_have_count(1)
    expect(page.get_by_role("alert")).to_be_hidden()


def test_the_address_can_be_changed_while_the_page_is_open(opened):
    page = opened(at(model="parser"))
    expect(page.locator("#panel .form")).to_have_count(6)
    page.evaluate("location.hash = 'model=tagger&text=a+dog'")
    expect(page.locator("#panel .form")).to_have_text(["a", "dog"])
    expect(page.get_by_label("Model")).to_have_value("tagger")


def test_another_model_is_chosen_from_the_menu(opened):
    page = opened(at(model="parser", required="arc.1.3"))
    expect(page.locator("#panel .tip").first).to_be_visible()
    page.get_by_label("Model").select_option("tagger")
    expect(page.locator("#panel .arc")).to_have_count(0)
    expect(page.locator("#panel .tag")).to_have_count(6)
    expect(page.locator("#conditions button")).to_have_count(0)


def test_the_temperature_changes_the_marginals(opened):
    page = opened(at(model="tagger", view="marginals", temperature="-1"))
    expect(page.locator("#alternatives .option").first).to_be_visible()
    sharp = page.locator("#alternatives .option").count()
    page.get_by_label("Temperature").fill("1")
    expect(page.locator("#degrees")).to_have_text("10.00")
    expect(page.locator("#alternatives .option").nth(sharp)).to_be_visible()


def test_a_link_is_copied(opened):
    page = opened(at(model="tagger"), permissions=["clipboard-read", "clipboard-write"])
    expect(page.locator("figure")).to_have_count(1)
    page.get_by_role("button", name="Copy link").click()
    expect(page.locator("#link")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == page.url
    expect(page.locator("#link")).to_have_text("Copy link")


def test_samples_are_drawn_again(opened):
    page = opened(at(model="parser", view="samples", k="20", temperature="0.5"))
    expect(page.locator("#choice button").nth(2)).to_be_visible()
    before = page.locator("#panel").inner_html()
    page.get_by_role("button", name="Draw again").click()
    page.wait_for_function("before => document.getElementById('panel').innerHTML !== before", arg=before)
    assert "seed=2" in page.url


def test_a_script_in_a_sentence_is_text(opened):
    text = "<script>alert(1)</script> <img src=x onerror=alert(2)>"
    page = opened(at(text, model="parser"))
    page.on("dialog", lambda dialog: pytest.fail("a script ran"))
    expect(page.locator("#panel .form").nth(1)).to_have_text("script")
    assert page.locator("#panel script, #panel img").count() == 0


def test_faint_arcs_are_faint_under_the_content_policy(opened):
    page = opened(at(model="parser", view="marginals", temperature="0.7"))
    expect(page.locator("#panel .tip").first).to_be_visible()
    opacities = page.eval_on_selector_all(
        "#panel .arc", "arcs => arcs.map(arc => Number(getComputedStyle(arc).opacity))"
    )
    assert min(opacities) < 0.9


def test_the_page_tells_when_the_service_is_gone(browser, tmp_path):
    with running({"tagger": models.tagger()}) as address:
        page = browser.new_page()
        page.goto(f"{address}/#{at()}")
        expect(page.locator("figure")).to_have_count(1)
    page.get_by_label("Sentence").fill("a dog")
    expect(page.get_by_role("alert")).to_contain_text("does not answer")
    page.close()
