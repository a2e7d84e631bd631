"""The base class of structures: it checks scores, lengths and constants, and declares the methods to implement."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from torch import Tensor
from torch.distributions import constraints
from typing_extensions import Self

from strukt.checks import arguments, guards
from strukt.checks.lengths import Lengths
from strukt.checks.validation import set_default_validate_args, validates
from strukt.kernels.oracles import Oracles
from strukt.kernels.places import Places, sum_of_totals
from strukt.structures.batched import BatchedTensors
from strukt.structures.nominal import NominalEvents
from strukt.structures.peer_names import StructurePeerNames


class ScoredStructures(StructurePeerNames, BatchedTensors, NominalEvents, abc.ABC):
    """Structures of one kind with the scores of their parts, in batches.

    Args:
        scores: The score tensors, the main scores first. Batch axes come before part axes; those of later scores
            that all items share have size 1, or are left out.
        lengths: ``batch``, or None if every item is as long as the scores.
        options: The structure's options, Booleans or integers, in the order of its constructor.
        validate_args: Whether to check values as well as shapes; on by default; see
            `strukt.set_default_validate_args`.
        constants: Integer tensors that, with the lengths, determine the set of structures. Batch axes come first.

    A subclass's constructor takes ``(*scores, lengths, *constants, *options, validate_args)`` in this order, or
    the subclass overrides `_rebuilt`. It implements `to_parts`, `_from_parts`, `_are_structures`, `_requiring`,
    `_is_named`, `_agreeing`, `_candidates`, and `_places` or `_score`; `_forbidden` only if it does not extend
    `StructuredDistribution`.

    It also sets class attributes: the ``oracles``; ``score_names`` and, if it has constants, ``constant_names``,
    for messages; and ``extents``, a list for each score tensor with a number for each part axis, the size of the
    axis minus the length. This is 0 for positions, 1 for fenceposts, `strukt.checks.guards.UNBOUNDED` for tags
    and other axes that do not grow, and `strukt.checks.guards.ONWARD` for offsets.
    """

    has_enumerate_support = True
    set_default_validate_args = staticmethod(set_default_validate_args)
    arg_constraints: ClassVar[dict[str, Any]] = {}

    oracles: ClassVar[Oracles]
    _best_with_each_part: ClassVar[Callable[..., Tensor] | None] = None
    """A function that computes max-marginals in PyTorch from the arguments of oracles; None if there is none."""
    _best_by_numpy: ClassVar[bool] = False
    """True if that function uses NumPy, which ``torch.func`` and ``torch.compile`` cannot trace."""
    logs: ClassVar[int | None] = None
    """The number of score tensors, from the first on, that are log-weights; None for all."""

    def __init__(
        self,
        scores: tuple[Tensor, ...],
        lengths: Lengths | None,
        options: tuple[int, ...],
        validate_args: bool | None,
        constants: tuple[Tensor, ...] = (),
    ) -> None:
        main = scores[0]
        dim = len(self.extents[0])
        batch_shape, n = main.shape[:-dim], main.shape[-dim] - self.extents[0][0]
        self.scores = arguments.common_dtype(scores, self.score_names)
        checked = validates(validate_args)
        ordinary = arguments.are_ordinary(self.scores[: self.logs], may_wait=checked)
        if not ordinary:
            logs = map(arguments.without_extremes, self.scores[: self.logs])
            self.scores = (*logs, *(() if self.logs is None else self.scores[self.logs :]))
        self.options = options
        self.constants = constants
        self.lengths = arguments.lengths(lengths, batch_shape, n, main.device, check=validate_args is not False)
        event_shape = main.shape[main.dim() - dim :][: self.oracles.event_dim]
        super().__init__(batch_shape, event_shape, validate_args=checked)
        if self._validate_args:
            if not ordinary:
                self._check_scores()
            self._check_values()

    # The members that a structure implements.

    def _places(self, event: Tensor) -> Places | None:  # noqa: ARG002
        """Return the indices of the scores whose sum is an event's score; None if the score is no such sum."""
        return None

    def _score(self, event: Tensor) -> Tensor:
        """Return the sum of the scores of an event's parts: ``sample_shape + batch``, differentiable.

        A structure implements this or `_places`.
        """
        places = self._places(event)
        if places is None:
            raise NotImplementedError(f"{type(self).__name__} defines neither _places nor _score")
        return sum_of_totals(self.scores, self._part_axes, places)

    @abc.abstractmethod
    def to_parts(self, event: Tensor) -> Tensor:
        """Return events as 0/1 vectors of parts, in the type of the main scores.

        Args:
            event: ``sample_shape + batch + event_shape``.

        Returns:
            ``sample_shape +`` the shape of the main scores.

        Raises:
            ValueError: If the events have a wrong shape or type, or (with ``validate_args``) an invalid value.
        """

    @abc.abstractmethod
    def _from_parts(self, parts: Tensor) -> Tensor:
        """Return the result of `from_parts` for parts of a valid shape."""

    @abc.abstractmethod
    def _are_structures(self, event: Tensor) -> Tensor:
        """Return the result of `is_structure` for events of a valid shape and type."""

    @abc.abstractmethod
    def _requiring(self, required: Tensor) -> tuple[Tensor, ...]:
        """Return scores that forbid all structures that lack a required part.

        ``required`` is a mask in the shape of the main scores, False in the padding.
        """

    @abc.abstractmethod
    def _is_named(self, event: Tensor) -> Tensor:
        """Return a mask of the entries of an event that are padding, or have a value possible for structures."""

    @abc.abstractmethod
    def _agreeing(self, event: Tensor, known: Tensor) -> Self:
        """Return the distribution without structures that disagree with an event where ``known`` is True.

        The event and the mask ``known`` are ``batch + event_shape``, or broadcast to it.
        """

    @abc.abstractmethod
    def _candidates(self) -> Tensor:
        """Return all events of one full-length item and perhaps others; ValueError if there are too many."""

    def _check_values(self) -> None:
        """Raise ValueError if an argument other than scores and lengths has an invalid value."""

    def from_parts(self, parts: Tensor) -> Tensor:
        """Return the events of 0/1 vectors of parts, the inverse of `to_parts`.

        Args:
            parts: ``sample_shape + batch +`` the part axes of the main scores. They are not checked to be those of
                a structure.

        Raises:
            ValueError: If the parts are not a tensor, or do not end in these part axes.
            NotImplementedError: If parts do not determine the event, as in `BitSpanTree`.
        """
        expected = self.scores[0].shape[-len(self.extents[0]) :]
        if not isinstance(parts, Tensor):
            raise ValueError(f"parts is a {type(parts).__name__}; expected a tensor, as `to_parts` returns")
        if parts.shape[-len(expected) :] != expected:
            raise ValueError(
                f"parts has shape {tuple(parts.shape)}; expected it to end in the part axes of "
                f"{self.score_names[0]}, {tuple(expected)}"
            )
        return self._from_parts(parts)

    def is_structure(self, event: Tensor) -> Tensor:
        """Return a mask of events that are structures of this kind, forbidden or not: ``sample_shape + batch``.

        Args:
            event: ``sample_shape + batch + event_shape``.

        Raises:
            ValueError: If the events have a wrong shape or type.
        """
        return self._are_structures(arguments.event(event, self.batch_shape, self.event_shape))

    def _main_within(self) -> Tensor:
        """Return a mask of the main scores within the lengths; it broadcasts to them."""
        lengths, shape = self.lengths.reshape(self._batch_size()), self.scores[0].shape
        return self._to_batch(guards.within(lengths, shape[len(self.batch_shape) :], self.extents[0]))

    def _check_scores(self) -> None:
        """Raise ValueError unless all scores within the lengths are -inf or numbers of a valid magnitude."""
        scores, (lengths, *_) = self._flat_scores()[: self.logs], self._integers()
        if not lengths.shape[0]:
            return
        for name, score, extents in zip(self.score_names, scores, self.extents, strict=False):
            shared = score.shape[0] != lengths.shape[0]
            reach = lengths.amax(0, keepdim=True) if shared else lengths
            guards.require_scores(score.detach(), reach, extents, name)

    def _require_same_kind(self, other: Any) -> None:
        """Raise an error unless ``other`` has the class, the options and the part axes of this distribution."""
        if type(other) is not type(self) or other.options != self.options:
            raise NotImplementedError(f"{self} and {other} are distributions over different structures")
        mine, theirs = (each.scores[0].shape[-len(self.extents[0]) :] for each in (self, other))
        if mine != theirs:
            raise ValueError(
                f"other has {self.score_names[0]} of shape batch + {tuple(theirs)}; expected that of this "
                f"distribution, batch + {tuple(mine)}"
            )

    def _aligned(self, other: Any) -> tuple[Self, Self]:
        """Return this distribution and another over the same structures, expanded to their common batch shape.

        Raises:
            NotImplementedError: If ``other`` is a distribution over other structures.
            ValueError: If the shapes do not fit together, or (with ``validate_args``) lengths or constants differ.
        """
        self._require_same_kind(other)
        left, right = self, other
        if left.batch_shape != right.batch_shape:
            try:
                shape = arguments.broadcast_shapes(left.batch_shape, right.batch_shape)
            except RuntimeError:
                raise ValueError(
                    f"other has batch_shape {tuple(right.batch_shape)}; expected one that broadcasts with that of "
                    f"this distribution, {tuple(left.batch_shape)}"
                ) from None
            left, right = left.expand(shape), right.expand(shape)
        if self._validate_args:
            names = ("lengths", *self.constant_names)
            for name, mine, theirs in zip(names, left._integers(), right._integers(), strict=True):
                if mine.shape != theirs.shape:
                    raise ValueError(
                        f"other has {name} of shape {tuple(theirs.shape)}; expected that of this distribution, "
                        f"{tuple(mine.shape)}"
                    )
                guards.require_equal(mine, theirs, name)
        return left, right

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return all events, forbidden ones included: ``(count,) + batch + event_shape``; small sizes only.

        Args:
            expand: Whether to repeat the events for all items; if False, the batch axes have size 1.

        Raises:
            NotImplementedError: If an item is shorter than its scores, or constants differ within the batch.
            ValueError: If there are too many events.
        """
        longest = self.event_shape[0] - self.extents[0][0]
        if self.lengths.numel() and bool((self.lengths != longest).any()):
            raise NotImplementedError(
                "an item is shorter than its scores; enumerate each length on its own, with scores cut to it"
            )
        for name, constant in zip(self.constant_names, self._integers()[1:], strict=True):
            if bool((constant != constant[:1]).any()):
                raise NotImplementedError(
                    f"items of different {name} have different supports; enumerate each item on its own"
                )
        candidates = self._candidates().to(self.lengths.device)
        one = candidates.reshape(len(candidates), *(1,) * len(self.batch_shape), *self.event_shape)
        everywhere = one.expand(len(candidates), *self.batch_shape, *self.event_shape)
        valid = self.is_structure(everywhere).reshape(len(candidates), -1)[:, :1].squeeze(1)
        return everywhere[valid] if expand else one[valid]

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> constraints.Constraint:
        """The structures of this kind, as a constraint whose ``check`` is `is_structure`."""
        return _Structures(self)

    # Explanations, needed only for errors.

    def _fault(self, event: Any, length: int, constants: Sequence[Any]) -> str | None:  # noqa: ARG002
        """Return a clause that says why an event is not a structure; None if it is one, or for an unknown reason.

        Args:
            event: The event of one item as a list, nested if it has several axes.
            length: The length of the item.
            constants: The constants of the item, as numbers or lists.
        """
        return None

    @abc.abstractmethod
    def _forbidden(self, event: Tensor) -> str | None:
        """Return a clause that names a part with score -inf that an event uses; None if there is none.

        The distribution and the event have one item, with a batch axis.
        """

    def _part_name(self, name: str, index: tuple[int, ...]) -> str:
        """Return the name of a score for messages, such as ``unary[0, 1]``, from the name of its tensor."""
        return f"{name}[{', '.join(map(str, index))}]"


class _Structures(constraints.Constraint):
    is_discrete = True

    def __init__(self, distribution: ScoredStructures) -> None:
        self._distribution = distribution
        self.event_dim = len(distribution.event_shape)
        super().__init__()

    def check(self, value: Tensor) -> Tensor:
        return self._distribution.is_structure(value)
