"""The linear-chain conditional random field (CRF): a layer from scores per position to a distribution."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from strukt.checks import arguments
from strukt.checks.lengths import Lengths, as_tensor, looks_like_mask
from strukt.distributions import LinearChain
from strukt.nn.inputs import require_sizes
from strukt.nn.tag_constraints import Constraints

_CALL = (
    "crf(emissions, lengths) returns a distribution, and crf(emissions, lengths).log_prob(tags) the "
    "log-likelihood of tags; lengths of a mask are strukt.lengths_from_mask(mask)"
)

_OTHER_NAMES = {
    "decode": "crf(emissions, lengths).mode",
    "num_tags": "crf.tags",
    "start_transitions": "crf.start",
    "end_transitions": "crf.end",
    "transitions": "crf.transition",
    "viterbi_tags": "crf(emissions, lengths).mode, or .topk(k) for the k best",
}
"""Members of the CRFs of pytorch-crf and AllenNLP, each with its counterpart here."""


class CRF(nn.Module):
    """A linear-chain conditional random field (CRF) over tag sequences.

    The layer learns a score for each transition, and scores for beginning and ending with each tag, which are
    added to the unary scores of the first and the last position.
    Source: Lafferty, McCallum and Pereira (2001).

    Args:
        tags: Number of tags `c`.
        constraints: Hard constraints; sequences that break them have probability 0. See `tag_constraints`. They
            are saved in the `state_dict`; loading a `state_dict` replaces them, unless it is of an earlier
            version, which saved no constraints.

    Attributes:
        transition: `(c, c)`; `[i, j]` scores tag i followed by tag j. All scores are 0 at first.
        start: `(c,)`, the scores of beginning with each tag.
        end: `(c,)`, the scores of ending with each tag.

    Raises:
        ValueError: If `tags` is less than 1, or if the constraints are not three Boolean tensors of the right
            shapes.

    Examples:
        >>> crf = CRF(3)
        >>> chain = crf(torch.randn(2, 4, 3), lengths=torch.tensor([4, 2]))
        >>> loss = -chain.log_prob(torch.tensor([[0, 1, 2, 0], [1, 1, -1, -1]])).mean()  # -1 is in the padding
        >>> loss.backward()  # trains the transitions
        >>> chain.mode.shape  # the best tags
        torch.Size([2, 4])
    """

    start_allowed: Tensor
    transition_allowed: Tensor
    end_allowed: Tensor

    def __init__(self, tags: int, constraints: Constraints | None = None) -> None:
        super().__init__()
        require_sizes(tags=tags)
        self.transition = nn.Parameter(torch.zeros(tags, tags))
        self.start = nn.Parameter(torch.zeros(tags))
        self.end = nn.Parameter(torch.zeros(tags))
        for name, allowed in _checked(constraints, tags)._asdict().items():
            self.register_buffer(f"{name}_allowed", allowed.clone())  # a copy: loading overwrites it

    @property
    def tags(self) -> int:
        """Number of tags."""
        return len(self.start)

    @property
    def constraints(self) -> Constraints:
        """The tags that may begin a sequence, follow each other, and end it; everything is allowed by default."""
        return Constraints(self.start_allowed, self.transition_allowed, self.end_allowed)

    def forward(
        self, emissions: Tensor, lengths: Lengths | None = None, *others: Any, **named: Any
    ) -> LinearChain:
        """Return the distribution over tag sequences.

        Args:
            emissions: `(*batch, n, c)`, scores of each of c tags at each of n positions; padding is ignored.
            lengths: `(*batch,)`; all `n` by default.
            others: Must be empty; detects calls in the style of pytorch-crf or AllenNLP.
            named: Must be empty.

        Raises:
            ValueError: If a shape or a type is wrong, a length is not between 0 and n, or a score is NaN or +inf.
            TypeError: If there are more arguments, such as tags and a mask.
        """
        if others or named:
            more = ", ".join([*([f"{len(others)} more"] if others else []), *named])
            raise TypeError(f"CRF got extra arguments ({more}); expected emissions and lengths only: {_CALL}")
        lengths = self._lengths(emissions, lengths)
        return LinearChain(*self._folded(emissions, lengths), lengths)

    def scores(self, emissions: Tensor, lengths: Lengths | None = None) -> tuple[Tensor, Tensor]:
        """Return the unary and the transition scores of the distribution that `forward` returns.

        Args:
            emissions: `(*batch, n, c)`.
            lengths: `(*batch,)`; all `n` by default.

        Returns:
            `(*batch, n, c)`, meaningless in the padding, and `(c, c)`; forbidden tags and transitions score -inf.

        Raises:
            ValueError: If a shape or a type is wrong, or a length is not between 0 and n.
        """
        return self._folded(emissions, self._lengths(emissions, lengths))

    def __getattr__(self, name: str) -> Any:
        if name in _OTHER_NAMES:
            raise AttributeError(f"CRF has no {name}, unlike other libraries; use {_OTHER_NAMES[name]}")
        return super().__getattr__(name)

    def extra_repr(self) -> str:
        """Return the number of tags and a summary of the constraints."""
        forbidden = [
            f"{int((~allowed).sum())} of {allowed.numel()} {name}s forbidden"
            for name, allowed in self.constraints._asdict().items()
            if allowed.device.type != "meta" and not bool(allowed.all())
        ]
        return f"tags={self.tags}, constraints={', '.join(forbidden) or None}"

    def _folded(self, emissions: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Return the unary scores, with those of the start and the end added, and the transition scores."""
        position = torch.arange(emissions.shape[-2], device=emissions.device)
        last = position == lengths.unsqueeze(-1) - 1
        unary = emissions.float() if emissions.dtype in (torch.float16, torch.bfloat16) else emissions
        zero = unary.new_zeros(())
        unary = unary + torch.where((position == 0).unsqueeze(-1), self._masked("start"), zero)
        unary = unary + torch.where(last.unsqueeze(-1), self._masked("end"), zero)
        return unary, self._masked("transition")

    def _lengths(self, emissions: Tensor, lengths: Lengths | None) -> Tensor:
        """Check the emissions and return the lengths, `(*batch,)`, before any broadcasting."""
        arguments.scores("emissions", emissions, f"(*batch, n, {self.tags})", 2)
        *batch, n, c = emissions.shape
        if c != self.tags:
            raise ValueError(
                f"emissions has shape {tuple(emissions.shape)}; expected (*batch, n, {self.tags}), "
                f"a score for each of {self.tags} tags"
            )
        converted = as_tensor(lengths, "lengths")
        if isinstance(converted, Tensor) and looks_like_mask(converted, torch.Size(batch), n):
            raise ValueError(
                f"lengths has dtype {converted.dtype} and shape {tuple(converted.shape)}, like tags or a mask; "
                f"expected a LongTensor of shape {tuple(batch)}: {_CALL}"
            )
        return arguments.lengths(converted, torch.Size(batch), n, emissions.device)

    def _masked(self, name: str) -> Tensor:
        scores: Tensor = getattr(self, name)
        return scores.masked_fill(~getattr(self, f"{name}_allowed"), -torch.inf)

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *rest: Any, **named: Any
    ) -> None:
        # Weights of other libraries have no constraints; the layer then keeps those that it has.
        for name in Constraints._fields:
            key = f"{name}_allowed"
            state_dict.setdefault(prefix + key, getattr(self, key))
        super()._load_from_state_dict(state_dict, prefix, *rest, **named)


def _checked(constraints: Constraints | None, tags: int) -> Constraints:
    """Return the constraints, or those that allow everything; raise ValueError if a type or a shape is wrong."""
    shapes = (tags,), (tags, tags), (tags,)
    if constraints is None:
        return Constraints(*(torch.ones(shape, dtype=torch.bool) for shape in shapes))
    if not isinstance(constraints, tuple) or len(constraints) != len(shapes):
        raise ValueError(
            f"constraints is a {type(constraints).__name__}; expected strukt.nn.Constraints, as returned by "
            "tag_constraints"
        )
    for name, allowed, shape in zip(Constraints._fields, constraints, shapes, strict=True):
        arguments.mask(f"constraints.{name}", allowed, torch.Size(shape))
    return Constraints(*constraints)
