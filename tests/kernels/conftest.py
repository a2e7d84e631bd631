"""Switching backends, threads, what uninitialised memory holds, and refusals to wait for a device."""

import warnings

import pytest
import torch
from tests.backends import four_threads, on, poisoned_memory  # noqa: F401


@pytest.fixture
def refuse_to_wait():
    """Raise an error where the host waits for the device, from the call on."""

    def refuse():
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Synchronization debug mode is a prototype")
            torch.cuda.set_sync_debug_mode("error")

    yield refuse
    torch.cuda.set_sync_debug_mode("default")
