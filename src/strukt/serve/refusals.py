"""What is wrong with a request, in one line: what was given, what was expected, how to mend it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from starlette.responses import JSONResponse

from strukt.viz.canvas.width import printable

LONGEST = 400
"""Characters of a message."""

SHOWN = 60
"""Characters of what was given."""

EXPECTED = 'expected a JSON object such as {"texts": ["They sang."]}, sent as Content-Type: application/json'

KINDS = {
    dict: "an object",
    list: "a list",
    str: "a string",
    bytes: "not declared as JSON",
    bool: "true or false",
    type(None): "null",
}
"""What bodies are called that are no objects."""


def problem(status: int, message: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """An answer that says in one line why there is no other.

    Args:
        status: The status.
        message: What is wrong; whatever characters a client has put into it, it can be sent.
        headers: Of this answer.
    """
    return JSONResponse({"error": _shortened(message, LONGEST)}, status, headers=headers)


def unreadable(reason: BaseException | None) -> str:
    """Why Python cannot read a body.

    Args:
        reason: What Python raised.

    Examples:
        >>> unreadable(RecursionError())[:27]
        'the body nests too deeply; '
    """
    if isinstance(reason, UnicodeDecodeError):
        return f"the body is no UTF-8 at byte {reason.start + 1}; {EXPECTED}"
    if isinstance(reason, RecursionError):
        return f"the body nests too deeply; {EXPECTED}"
    if isinstance(reason, ValueError):
        return f"the body has a number of too many digits; {EXPECTED}"
    return f"the body cannot be read; {EXPECTED}"


def told(error: Mapping[str, Any]) -> str:
    """An error of Pydantic, in words.

    Args:
        error: As `fastapi.exceptions.RequestValidationError.errors` has it.

    Examples:
        >>> told({"type": "missing", "loc": ("body",), "msg": "Field required", "input": None})[:50]
        'the body is empty; expected a JSON object such as '
        >>> told({"type": "int_type", "loc": ("body", "k"), "msg": "Input should be an integer", "input": "5"})
        'k: Input should be an integer; got "5"'
    """
    kind, place, given = error["type"], error["loc"][1:], error.get("input")
    if kind == "json_invalid":
        return f"the body is no JSON at character {place[0] + 1}: {error['ctx']['error']}; {EXPECTED}"
    if kind == "missing" and not place:
        return f"the body is empty; {EXPECTED}"
    if not place:
        return f"the body is {KINDS.get(type(given), 'a number')}; {EXPECTED}"
    name = ".".join(map(str, place))
    if kind == "missing":
        return f"{name}: Field required; add it"
    shown = json.dumps(given, ensure_ascii=False, default=str)
    return f"{name}: {error['msg']}; got {_shortened(shown, SHOWN)}"


def _shortened(text: str, most: int) -> str:
    text = printable(" ".join(text.split()))
    return text if len(text) <= most else f"{text[:most]} ..."
