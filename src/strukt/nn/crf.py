"""A learned transition matrix that turns scores per position into a distribution over tag sequences."""

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
    "crf(emissions, lengths) gives a distribution, and crf(emissions, lengths).log_prob(tags) the log-likelihood "
    "of tags; lengths of a mask are strukt.lengths_from_mask(mask)"
)

_OTHER_NAMES = {
    "decode": "crf(emissions, lengths).mode",
    "num_tags": "crf.tags",
    "start_transitions": "crf.start",
    "end_transitions": "crf.end",
    "transitions": "crf.transition",
    "viterbi_tags": "crf(emissions, lengths).mode, or .topk(k) for the k best",
}
"""Names of members in pytorch-crf and AllenNLP, and those to use here."""


class CRF(nn.Module):
    """A linear-chain conditional random field as a layer.

    The scores of beginning and ending with a tag are learned too and folded into the unary scores.
    Source: Lafferty, McCallum and Pereira (2001).

    Args:
        tags: Number of tags `c`.
        constraints: Sequences that break them have probability 0; see `tag_constraints`. They are saved in the
            `state_dict`, and those of a loaded one take their place; one without them, of an earlier version,
            leaves them as they are.

    Raises:
        ValueError: If there is no tag, or the constraints are not Boolean or of another size.

    Examples:
        >>> crf = CRF(3)
        >>> chain = crf(torch.randn(2, 4, 3), lengths=torch.tensor([4, 2]))
        >>> chain.log_prob(torch.tensor([[0, 1, 2, 0], [1, 1, -1, -1]])).shape
        torch.Size([2])
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
            self.register_buffer(f"{name}_allowed", allowed.clone())  # loading writes into it

    @property
    def tags(self) -> int:
        """Number of tags."""
        return len(self.start)

    @property
    def constraints(self) -> Constraints:
        """Which tags may begin a sequence, follow each other, and end it; all where none were given."""
        return Constraints(self.start_allowed, self.transition_allowed, self.end_allowed)

    def forward(
        self, emissions: Tensor, lengths: Lengths | None = None, *others: Any, **named: Any
    ) -> LinearChain:
        """The distribution over tag sequences.

        Args:
            emissions: `(*batch, n, c)` scores of each tag at each position.
            lengths: `(*batch,)`; all `n` if not given.
            others: Nothing; here to tell a call with the arguments of pytorch-crf or AllenNLP.
            named: Nothing.

        Raises:
            ValueError: If shapes or types do not fit.
            TypeError: If there are more arguments, such as tags and a mask.
        """
        if others or named:
            more = ", ".join([*([f"{len(others)} more"] if others else []), *named])
            raise TypeError(f"CRF takes emissions and lengths alone, and was given {more}, too: {_CALL}")
        lengths = self._lengths(emissions, lengths)
        return LinearChain(*self._folded(emissions, lengths), lengths)

    def scores(self, emissions: Tensor, lengths: Lengths | None = None) -> tuple[Tensor, Tensor]:
        """The scores of tags and of transitions that `forward` makes a distribution of.

        Args:
            emissions: `(*batch, n, c)`.
            lengths: `(*batch,)`; all `n` if not given.

        Returns:
            `(*batch, n, c)` and `(c, c)`; what is not allowed scores -inf.

        Raises:
            ValueError: If shapes or types do not fit.
        """
        return self._folded(emissions, self._lengths(emissions, lengths))

    def __getattr__(self, name: str) -> Any:
        if name in _OTHER_NAMES:
            raise AttributeError(f"CRF has no {name}, which other libraries have; take {_OTHER_NAMES[name]}")
        return super().__getattr__(name)

    def extra_repr(self) -> str:
        """Tags and constraints."""
        forbidden = [
            f"{int((~allowed).sum())} of {allowed.numel()} {name}s forbidden"
            for name, allowed in self.constraints._asdict().items()
            if allowed.device.type != "meta" and not bool(allowed.all())
        ]
        return f"tags={self.tags}, constraints={', '.join(forbidden) or None}"

    def _folded(self, emissions: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        position = torch.arange(emissions.shape[-2], device=emissions.device)
        last = position == lengths.unsqueeze(-1) - 1
        unary = emissions.float() if emissions.dtype in (torch.float16, torch.bfloat16) else emissions
        zero = unary.new_zeros(())
        unary = unary + torch.where((position == 0).unsqueeze(-1), self._masked("start"), zero)
        unary = unary + torch.where(last.unsqueeze(-1), self._masked("end"), zero)
        return unary, self._masked("transition")

    def _lengths(self, emissions: Tensor, lengths: Lengths | None) -> Tensor:
        """The lengths, `(*batch,)`, before anything is broadcast."""
        arguments.scores("emissions", emissions, f"(*batch, n, {self.tags})", 2)
        *batch, n, c = emissions.shape
        if c != self.tags:
            raise ValueError(
                f"emissions has shape {tuple(emissions.shape)}; expected (*batch, n, {self.tags}), "
                f"a score for each of {self.tags} tags"
            )
        given = as_tensor(lengths, "lengths")
        if isinstance(given, Tensor) and looks_like_mask(given, torch.Size(batch), n):
            raise ValueError(
                f"lengths is of type {given.dtype} and shape {tuple(given.shape)}, as tags or a mask have it; "
                f"expected a LongTensor of shape {tuple(batch)}: {_CALL}"
            )
        return arguments.lengths(given, torch.Size(batch), n, emissions.device)

    def _masked(self, name: str) -> Tensor:
        scores: Tensor = getattr(self, name)
        return scores.masked_fill(~getattr(self, f"{name}_allowed"), -torch.inf)

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *rest: Any, **named: Any
    ) -> None:
        # Earlier versions did not save the constraints: then those that the layer was made with stay.
        for name in Constraints._fields:
            key = f"{name}_allowed"
            state_dict.setdefault(prefix + key, getattr(self, key))
        super()._load_from_state_dict(state_dict, prefix, *rest, **named)


def _checked(constraints: Constraints | None, tags: int) -> Constraints:
    """Constraints of the right sizes; those that allow everything if there are none.

    Raises:
        ValueError: If they are not Boolean, or of another size.
    """
    shapes = (tags,), (tags, tags), (tags,)
    if constraints is None:
        return Constraints(*(torch.ones(shape, dtype=torch.bool) for shape in shapes))
    if not isinstance(constraints, tuple) or len(constraints) != len(shapes):
        raise ValueError(
            f"constraints is a {type(constraints).__name__}; expected strukt.nn.Constraints, as tag_constraints "
            "gives them"
        )
    for name, allowed, shape in zip(Constraints._fields, constraints, shapes, strict=True):
        arguments.mask(f"constraints.{name}", allowed, torch.Size(shape))
    return Constraints(*constraints)
