"""Questions to the service and to its page, and what refusals look like."""

import re
import time
from urllib.parse import quote

from tests.serve.models import TEXT

PLAYWRIGHT = 'needs playwright: pip install -e ".[dev]"'
"""Why tests in a browser are skipped."""


def ask(client, **question):
    return client.post("/predict", json={"texts": [TEXT], "model": "parser", **question})


def refused(response, status, message):
    assert response.status_code == status
    assert response.json().keys() == {"error"}
    assert re.search(message, response.json()["error"])
    return True


def at(text=TEXT, **fields):
    """What stands behind # in the address of the page."""
    return "&".join(f"{name}={quote(value)}" for name, value in {"text": text, **fields}.items())


def until(holds, seconds=20):
    """Wait until a condition holds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it does not hold"
        time.sleep(0.02)
