"""Download of saved models from the Hugging Face Hub."""

from __future__ import annotations

from strukt.errors import DataError, MissingExtraError
from strukt.train.model_folder import HUB, LAST, PARTS

try:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HTTPError  # type: ignore[attr-defined]
except ImportError as error:
    raise MissingExtraError("huggingface_hub", "hub") from error

CARD = "README.md"
"""The file of the model card."""

FILES = (CARD, *PARTS, "encoder/*", LAST)
"""The files of a model that are downloaded; none of them is ever executed."""

FAILURES = (OSError, ValueError, HTTPError)
"""Errors raised for wrong names, network failures and missing rights."""


def download(name: str) -> str:
    """Download a model to the local cache of the hub; return its folder in the cache.

    Files that are in the cache are not downloaded again. If the hub cannot be reached, the model in the cache is
    used.

    Args:
        name: `hf://user/name` for the latest revision, or `hf://user/name@revision`.

    Raises:
        DataError: If there is no such model, or if it is not in the cache and cannot be downloaded.
    """
    repository, _, revision = name.removeprefix(HUB).partition("@")
    try:
        return snapshot_download(repository, revision=revision or None, allow_patterns=list(FILES))
    except FAILURES as error:
        raise DataError(f"cannot be fetched from the hub ({one_line(error)})", name) from error


def one_line(error: Exception) -> str:
    """Return the message of an error on one line."""
    return " ".join(str(error).split())
