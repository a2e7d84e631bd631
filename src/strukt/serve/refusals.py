"""Error responses to requests, with messages of one line: the value, the expected value, and the remedy."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from starlette.responses import JSONResponse

from strukt.viz.canvas.width import printable

LONGEST = 400
"""Maximum number of characters of a message."""

SHOWN = 60
"""Maximum number of characters of a value in a message."""

EXPECTED = 'expected a JSON object such as {"texts": ["They sang."]}, sent as Content-Type: application/json'

KINDS = {
    dict: "an object",
    list: "a list",
    str: "a string",
    bytes: "not declared as JSON",
    bool: "true or false",
    type(None): "null",
}
"""The types of bodies, in words."""


def problem(status: int, message: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """Return an error response, whose JSON body has the fields of `messages.Problem`.

    Args:
        status: The HTTP status of the response.
        message: The reason. It may quote any text of the client: control characters are replaced, and longer
            messages are shortened to `LONGEST` characters.
        headers: Additional headers of the response.
    """
    return JSONResponse({"error": _shortened(message, LONGEST)}, status, headers=headers)


def unreadable(reason: BaseException | None) -> str:
    """Explain why a body could not be parsed.

    Args:
        reason: The exception that the parser raised, if known.

    Examples:
        >>> unreadable(RecursionError())[:27]
        'the body is nested too deep'
    """
    if isinstance(reason, UnicodeDecodeError):
        return f"the body is not UTF-8 at byte {reason.start + 1}; {EXPECTED}"
    if isinstance(reason, RecursionError):
        return f"the body is nested too deeply; {EXPECTED}"
    if isinstance(reason, ValueError):
        return f"the body has a number with too many digits; {EXPECTED}"
    return f"the body cannot be read; {EXPECTED}"


def validation_message(error: Mapping[str, Any]) -> str:
    """Describe an error of Pydantic in one line.

    Args:
        error: An entry of the result of `fastapi.exceptions.RequestValidationError.errors`.

    Examples:
        >>> validation_message({"type": "missing", "loc": ("body",), "msg": "Field required", "input": None})[:50]
        'the body is empty; expected a JSON object such as '
        >>> error = {"type": "int_type", "loc": ("body", "k"), "msg": "Input should be an integer", "input": "5"}
        >>> validation_message(error)
        'k: Input should be an integer; got "5"'
    """
    kind, place, value = error["type"], error["loc"][1:], error.get("input")
    if kind == "json_invalid":
        return f"the body is not JSON at character {place[0] + 1}: {error['ctx']['error']}; {EXPECTED}"
    if kind == "missing" and not place:
        return f"the body is empty; {EXPECTED}"
    if not place:
        return f"the body is {KINDS.get(type(value), 'a number')}; {EXPECTED}"
    name = ".".join(map(str, place))
    if kind == "missing":
        return f"{name}: Field required; add it"
    shown = json.dumps(value, ensure_ascii=False, default=str)
    return f"{name}: {error['msg']}; got {_shortened(shown, SHOWN)}"


def _shortened(text: str, most: int) -> str:
    text = printable(" ".join(text.split()))
    return text if len(text) <= most else f"{text[:most]} ..."
