"""Which tags may follow each other, from the scheme that the tags are written in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from strukt.data.tag_schemes import scheme_of, tag_fault


class Constraints(NamedTuple):
    """Which tags may begin a sequence, follow each other, and end it (booleans; True allows).

    Attributes:
        start: `(c,)`.
        transition: `(c, c)`, `[i, j]` for tag i followed by tag j.
        end: `(c,)`.
    """

    start: Tensor
    transition: Tensor
    end: Tensor


def tag_constraints(tags: Sequence[str], scheme: str = "BIO") -> Constraints:
    """Return the rules of a scheme that writes spans as tags, `O` and a mark with the type of the span: `B-LOC`.

    - `BIO` (IOB2): `I-X` only behind `B-X` or `I-X`.
    - `IOB1`: spans begin with `I-X`; with `B-X` only right behind another span of type X, and there always.
    - `BIOES` (IOBES): `B-X`, any number of `I-X`, `E-X`; or `S-X` for a single word.
    - `BILOU`: the same, with `L` in place of `E` and `U` in place of `S`.
    - `BMES`: the same as BIOES, with `M` in place of `I`.

    Marks may stand alone (`B`, `I`), where there is one type only, as in word segmentation.

    Args:
        tags: The tags in the order of their indices.
        scheme: The name of the scheme, in capitals or not.

    Raises:
        ValueError: If there is no such scheme, if a tag is not one of it, or if a tag cannot be in any sequence,
            such as `I-LOC` in BIO without `B-LOC`. The message names the tag, and the schemes that have all tags.

    Complexity: O(c^2).

    Examples:
        >>> tag_constraints(["O", "B-LOC", "I-LOC"]).transition.int()
        tensor([[1, 1, 0],
                [1, 1, 1],
                [1, 1, 1]], dtype=torch.int32)
        >>> tag_constraints(["O", "B-LOC", "E-LOC", "S-LOC"], scheme="BIOES").transition.int()
        tensor([[1, 1, 0, 1],
                [0, 0, 1, 0],
                [1, 1, 0, 1],
                [1, 1, 0, 1]], dtype=torch.int32)
    """
    rules = scheme_of(scheme)
    if wrong := [tag for tag in tags if not isinstance(tag, str)]:
        kind = type(wrong[0]).__name__
        raise ValueError(f"tags has {wrong[0]!r}, of type {kind}; expected names, such as 'B-LOC'")
    fault = tag_fault(tags, rules)
    if fault:
        raise ValueError(f"tags: {fault}")
    c = len(tags)
    follows = [[rules.follows(before, tag) for tag in tags] for before in tags]
    return Constraints(
        torch.tensor([rules.begins(tag) for tag in tags], dtype=torch.bool),
        torch.tensor(follows, dtype=torch.bool).reshape(c, c),
        torch.tensor([rules.ends(tag) for tag in tags], dtype=torch.bool),
    )


def bio_constraints(tags: Sequence[str]) -> Constraints:
    """Return the rules of BIO tagging: `tag_constraints` of this scheme.

    Args:
        tags: The tags in the order of their indices.

    Raises:
        ValueError: If a tag is not `O`, `B-X` or `I-X`, or if there is `I-X` without `B-X`.

    Examples:
        >>> bio_constraints(["O", "B-LOC", "I-LOC"]).start
        tensor([ True,  True, False])
    """
    return tag_constraints(tags, "BIO")
