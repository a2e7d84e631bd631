"""Hard constraints on tag sequences from tagging schemes (BIO, IOB1, BIOES, BILOU, BMES)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from strukt.data.tag_schemes import scheme_of, tag_fault


class Constraints(NamedTuple):
    """Hard constraints on sequences of c tags, as Booleans; True allows.

    Attributes:
        start: `(c,)`, tags that may begin a sequence.
        transition: `(c, c)`, `[i, j]` for tag i followed by tag j.
        end: `(c,)`, tags that may end a sequence.

    Examples:
        >>> from strukt.nn import CRF
        >>> never_twice, any_tag = ~torch.eye(3, dtype=torch.bool), torch.ones(3, dtype=torch.bool)
        >>> crf = CRF(3, constraints=Constraints(any_tag, never_twice, any_tag))
        >>> crf(torch.tensor([[[5.0, 0.0, 1.0], [9.0, 0.0, 1.0]]])).mode  # not tag 0 twice
        tensor([[2, 0]])
    """

    start: Tensor
    transition: Tensor
    end: Tensor


def tag_constraints(tags: Sequence[str], scheme: str = "BIO") -> Constraints:
    """Return the constraints of a tagging scheme, with tags such as `B-LOC` for spans and `O` for other words.

    - `BIO` (IOB2): `I-X` only after `B-X` or `I-X`.
    - `IOB1`: spans begin with `I-X`, but with `B-X` directly after another span of type X, and only there.
    - `BIOES` (IOBES): `B-X`, any number of `I-X`, `E-X`; or `S-X` for a single word.
    - `BILOU`: BIOES with `L` instead of `E`, and `U` instead of `S`.
    - `BMES`: BIOES with `M` instead of `I`.

    Marks without a type (`B`, `I`) are allowed if there is only one type, as in word segmentation.

    Args:
        tags: The tags in the order of their indices.
        scheme: The name of the scheme, in upper or lower case.

    Raises:
        ValueError: If the scheme is unknown, if ``tags`` is a string, if a tag is not a string or not of the
            scheme, or if no sequence can contain a tag, such as `I-LOC` in BIO without `B-LOC`. The message names
            the tag, and any other schemes in which all of the tags are valid.

    Complexity: O(c^2) for c tags.

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
    if isinstance(tags, str):
        raise ValueError(f"tags is {tags!r}, of type str; expected a list of names, such as ['O', 'B-LOC']")
    if wrong := [tag for tag in tags if not isinstance(tag, str)]:
        kind = type(wrong[0]).__name__
        raise ValueError(f"tags has {wrong[0]!r}, of type {kind}; expected names such as 'B-LOC'")
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
    """Return the constraints of BIO tagging; short for `tag_constraints` with this scheme.

    Args:
        tags: The tags in the order of their indices.

    Raises:
        ValueError: If ``tags`` is a string, if a tag is not a string or not of BIO, or if there is `I-X` without
            `B-X`.

    Examples:
        >>> bio_constraints(["O", "B-LOC", "I-LOC"]).start
        tensor([ True,  True, False])
    """
    return tag_constraints(tags, "BIO")
