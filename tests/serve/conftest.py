"""A service of small models."""

import time

import pytest
from fastapi.testclient import TestClient
from tests.serve import models

from strukt.serve.app import create_app


@pytest.fixture(scope="session")
def client():
    """A client of a service of several small models, which is ready."""
    with TestClient(create_app(models.several())) as client:
        wait_until_ready(client)
        yield client


def wait_until_ready(client: TestClient, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while client.get("/ready").status_code != 200:
        assert time.monotonic() < end
        time.sleep(0.02)
