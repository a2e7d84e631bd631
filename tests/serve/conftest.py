"""A service of small models, and a browser."""

import contextlib
import shutil

import pytest
from fastapi.testclient import TestClient
from tests.serve import models
from tests.serve.asking import PLAYWRIGHT, until
from tests.serve.server import running

from strukt.serve.app import create_app

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

EXPECTED = ("503", "422", "413")
"""Refusals that the browser notes as failed loads, though the page tells them."""


@pytest.fixture(scope="session")
def client():
    """A client of a service of several small models, which is ready."""
    with TestClient(create_app(models.several())) as client:
        wait_until_ready(client)
        yield client


def wait_until_ready(client: TestClient) -> None:
    until(lambda: client.get("/ready").status_code == 200, seconds=120)


@pytest.fixture(scope="module")
def address():
    """That of a service of several small models."""
    with running(models.several()) as address:
        yield address


@pytest.fixture(scope="module")
def browser():
    """Chromium, started once per module, because Playwright's event loop occupies the thread while it runs."""
    sync_api = pytest.importorskip("playwright.sync_api", reason=PLAYWRIGHT)
    if CHROMIUM is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def opened_at(browser):
    """Opens the page of a service of some models at a fragment."""
    with contextlib.ExitStack() as stack:

        def open_page(served, fragment):
            page = browser.new_page()
            stack.callback(page.close)
            page.set_default_timeout(15_000)
            page.goto(f"{stack.enter_context(running(served))}/#{fragment}")
            return page

        yield open_page


@pytest.fixture
def opened(browser, address):
    """Opens the page at a fragment; complaints of the browser, and what it asks elsewhere, fail the test."""
    complaints, contexts = [], []

    def open_page(fragment="", **options):
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "console",
            lambda message: (
                complaints.append(message.text)
                if message.type in ("error", "warning")
                and not any(status in message.text for status in EXPECTED)
                else None
            ),
        )
        page.on(
            "request",
            lambda request: None if request.url.startswith(address) else complaints.append(request.url),
        )
        page.goto(f"{address}/#{fragment}")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
