"""The default of ``validate_args``.

It is strukt's own: ``torch.compile`` switches that of `torch.distributions` off for the whole process.
"""

from __future__ import annotations

import torch

_default = __debug__


def set_default_validate_args(value: bool) -> None:
    """Set whether structures and losses check values, such as NaN in scores, if ``validate_args`` is None.

    Initially True, or False under ``python -O``, as in `torch.distributions`. Compiled code uses False, whatever
    the default is. The setting is separate from that of `torch.distributions`, which ``torch.compile`` sets to
    False even for code that is not compiled.

    Raises:
        ValueError: If the value is not True or False.

    Examples:
        >>> from strukt import LinearChain
        >>> scores = torch.full((3, 2), torch.nan)
        >>> set_default_validate_args(False)
        >>> chain = LinearChain(scores, torch.zeros(2, 2))
        >>> set_default_validate_args(True)
        >>> chain = LinearChain(scores, torch.zeros(2, 2))
        Traceback (most recent call last):
        strukt.errors.OutOfRangeError: unary holds nan at batch item 0, position (0, 0); expected numbers up to ...
    """
    global _default
    if not isinstance(value, bool):
        raise ValueError(f"value is {value!r}; expected True or False")
    _default = value


def validates(validate_args: bool | None) -> bool:
    """Return ``validate_args`` or, if it is None, the default, which is False in compiled graphs."""
    if validate_args is None:
        return _default and not torch.compiler.is_compiling()
    return validate_args
