"""Reference in PyTorch: validity of events and places of their scores; see `strukt.structures.events`."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.structures.events.reference_spans import bit_places, read_spans  # noqa: F401
from strukt.structures.monotone_alignment.reference import DELETE, INSERT, MATCH
from strukt.structures.spanning_tree.arcs import pairs


def within(lengths: Tensor, size: int) -> Tensor:
    """Return a mask ``batch + (size,)`` of the positions within the lengths ``batch``."""
    return torch.arange(size, device=lengths.device) < lengths.unsqueeze(-1)


# Alternatives of positions.


def in_range(named: Tensor, lengths: Tensor, count: int) -> Tensor:
    return (((named >= 0) & (named < count)) | ~within(lengths, named.shape[-1])).all(-1)


def alternative_places(named: Tensor, lengths: Tensor, count: int) -> Tensor:
    rows = torch.arange(named.shape[-1], device=named.device) * count
    return torch.where(within(lengths, named.shape[-1]), rows + named.clamp(0, count - 1), -1)


def tag_places(tags: Tensor, lengths: Tensor, count: int, per_step: bool) -> tuple[Tensor, Tensor]:
    places = alternative_places(tags, lengths, count)
    tags = tags.clamp(0, count - 1)
    pairs = tags[..., :-1] * count + tags[..., 1:]
    if per_step:
        pairs = pairs + torch.arange(pairs.shape[-1], device=tags.device) * (count * count)
    return places, torch.where(within(lengths, tags.shape[-1])[..., 1:], pairs, -1)


def are_frames(
    labels: Tensor, lengths: Tensor, states: Tensor, target_lengths: Tensor, blank: int, count: int
) -> Tensor:
    before = torch.nn.functional.pad(labels[..., :-1], (1, 0), value=blank)
    starts = within(lengths, labels.shape[-1]) & (labels != blank) & (labels != before)
    state = (2 * starts.cumsum(-1) - 1).clamp(0, states.shape[-1] - 1)
    expected = states.gather(-1, state)
    complete = starts.sum(-1) == target_lengths
    return complete & ((labels == expected) | ~starts).all(-1) & in_range(labels, lengths, count)


# Segments.


def durations(labels: Tensor, lengths: Tensor) -> Tensor:
    """Return the number of positions of the segment that starts at each position; 0 where none starts.

    Args:
        labels: ``(..., n)``, negative where no segment starts.
        lengths: The number of positions of each row; broadcasts to the leading axes of ``labels``.
    """
    starts = (labels >= 0) & within(lengths, labels.shape[-1])
    positions = torch.arange(labels.shape[-1], device=labels.device)
    return torch.where(starts, _following(starts, lengths) - positions, 0)


def are_segmentations(labels: Tensor, lengths: Tensor, longest: int, count: int) -> Tensor:
    beyond = ~within(lengths, labels.shape[-1])
    named = (labels >= -1) & (labels < count) | beyond
    covered = (labels[..., :1] >= 0) | beyond[..., :1]
    return named.all(-1) & covered.all(-1) & (durations(labels, lengths) <= longest).all(-1)


def segment_places(
    labels: Tensor, lengths: Tensor, longest: int, count: int, pairs: int, per_position: bool
) -> tuple[Tensor, Tensor]:
    n = labels.shape[-1]
    starts = (labels >= 0) & within(lengths, n)
    following, positions = _following(starts, lengths), torch.arange(n, device=labels.device)
    labels = labels.clamp(0, count - 1)
    places = (positions * longest + (following - positions - 1).clamp(0, longest - 1)) * count + labels
    onward = torch.zeros_like(labels)
    if pairs > 1 and n:
        onward = labels * pairs + labels.gather(-1, following.clamp(max=n - 1))
    if per_position:
        onward = onward + (following - 1) * pairs * pairs
    followed = starts & (following < lengths.unsqueeze(-1))
    return torch.where(starts, places, -1), torch.where(followed, onward, -1)


def _following(starts: Tensor, lengths: Tensor) -> Tensor:
    """Return, for each position, the next position at which a segment starts, or the length if there is none.

    ``starts (..., n)`` is a mask of the first positions of segments.
    """
    n, end = starts.shape[-1], lengths.unsqueeze(-1)
    places = torch.where(starts, torch.arange(n, device=starts.device), end)[..., 1:]
    later = torch.cat([places, end.expand(*places.shape[:-1], min(n, 1))], -1)
    return later.flip(-1).cummin(-1).values.flip(-1)


# Trees over words, and over vertices.


def are_dependency_trees(heads: Tensor, lengths: Tensor, single_root: bool, projective: bool) -> Tensor:
    positions = within(lengths, heads.shape[-1])
    heads = torch.where(positions, heads, 0)
    inside = (heads >= 0) & (heads <= lengths.unsqueeze(-1))
    trees = inside.all(-1) & _reaches_root(torch.where(inside, heads, 0))
    if single_root:
        roots = ((heads == 0) & positions).sum(-1)
        trees = trees & ((roots == 1) | (lengths == 0))
    return trees & ~_crosses(heads, positions) if projective else trees


def _reaches_root(heads: Tensor) -> Tensor:
    """Return a mask ``(rows,)`` of ``heads (rows, n)`` by which every word reaches the root.

    Each step doubles the length of the paths that are followed.
    """
    above = torch.cat([torch.zeros_like(heads[..., :1]), heads], -1)
    for _ in range(heads.shape[-1].bit_length()):
        above = above.gather(-1, above)
    return (above == 0).all(-1)


def _crosses(heads: Tensor, positions: Tensor) -> Tensor:
    """Return a mask ``(rows,)`` of ``heads (rows, n)`` with two arcs that cross.

    ``positions (rows, n)`` is a mask of the words within the lengths.
    """
    words = torch.arange(1, heads.shape[-1] + 1, device=heads.device)
    low, high = torch.minimum(heads, words), torch.maximum(heads, words)
    starts = low.unsqueeze(-1) < low.unsqueeze(-2)
    inside = low.unsqueeze(-2) < high.unsqueeze(-1)
    ends = high.unsqueeze(-1) < high.unsqueeze(-2)
    both = positions.unsqueeze(-1) & positions.unsqueeze(-2)
    return (starts & inside & ends & both).flatten(-2).any(-1)


def are_spanning_trees(edges: Tensor, lengths: Tensor) -> Tensor:
    places = pairs(lengths, edges.shape[-1])
    used = places & (edges == 1)
    marked = ((edges == 0) | used | ~places).flatten(-2).all(-1)
    complete = used.flatten(-2).sum(-1) == (lengths - 1).clamp(min=0)
    return marked & complete & _connects(used, lengths)


def edge_places(edges: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    places = pairs(lengths, edges.shape[-1])
    return _present_and_absent((places & (edges > 0)).flatten(-2), places.flatten(-2))


def _connects(used: Tensor, lengths: Tensor) -> Tensor:
    """Return a mask ``(rows,)`` of the sets of edges ``used (rows, n, n)`` that connect all vertices.

    Each step doubles the length of the paths that are followed.
    """
    n = used.shape[-1]
    vertices = torch.arange(n, device=used.device)
    near = used | used.mT | (vertices == vertices.unsqueeze(-1))
    for _ in range(n.bit_length()):
        near = (near.float() @ near.float()) > 0
    beyond = vertices >= lengths.unsqueeze(-1)
    return (near[..., :1, :].squeeze(-2) | beyond).all(-1) if n else near.flatten(-2).all(-1)


# Subsets of items.


def are_subsets(taken: Tensor, lengths: Tensor, smallest: Tensor, largest: Tensor) -> Tensor:
    items = within(lengths, taken.shape[-1])
    size = (items & (taken > 0)).sum(-1)
    marked = ((taken == 0) | (taken == 1) | ~items).all(-1)
    return marked & (size >= smallest) & (size <= largest)


def item_places(taken: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    items = within(lengths, taken.shape[-1])
    return _present_and_absent(items & (taken == 1), items)


def _present_and_absent(used: Tensor, parts: Tensor) -> tuple[Tensor, Tensor]:
    """Return the places of used parts, and of unused parts: ``(rows, parts)`` each, -1 elsewhere.

    ``used`` and ``parts (rows, parts)`` are masks of the entries that are used, and of those that are parts.
    """
    every = torch.arange(parts.shape[-1], device=parts.device)
    return torch.where(used, every, -1), torch.where(parts & ~used, every, -1)


# Paths through grids.


def are_paths(moves: Tensor, lengths: Tensor, target_lengths: Tensor) -> Tensor:
    cells = cells_within(moves.shape[-2:], lengths, target_lengths)
    named = (((moves >= -1) & (moves < 3)) | ~cells).flatten(-2).all(-1)
    moves = moves.clamp(-2, 3).to(torch.int8)  # an eighth of the memory traffic
    visited = cells & (moves >= 0)
    first, last = _corners(moves, lengths, target_lengths)
    entered = torch.where(visited & ~first, moves, -1)
    left = (
        shifted(entered == MATCH, 1, 1)
        | shifted(entered == INSERT, 0, 1)
        | shifted(entered == DELETE, 1, 0)
    )  # fmt: skip
    row, column = _rows_and_columns(moves.shape[-2:], moves.device)
    comes_from_outside = ((entered != INSERT) & (row == 0)) | ((entered != DELETE) & (column == 0))
    inside = ~(comes_from_outside & (entered >= 0))
    begun = ~first | (moves == MATCH)
    complete = left == (visited & ~last)
    reached = named & (inside & begun & complete & (visited | ~last)).flatten(-2).all(-1)
    return reached & ((lengths > 0) == (target_lengths > 0))


def path_places(moves: Tensor, lengths: Tensor, target_lengths: Tensor) -> tuple[Tensor, Tensor]:
    visited = cells_within(moves.shape[-2:], lengths, target_lengths) & (moves >= 0)
    move = moves.clamp(0, 2).to(torch.int8)
    before = torch.where(
        move == MATCH,
        shifted(move, -1, -1),
        torch.where(move == INSERT, shifted(move, 0, -1), shifted(move, -1, 0)),
    )
    n, m = moves.shape[-2:]
    numbers = torch.arange(n * m, device=moves.device).view(n, m)
    first, _ = _corners(moves, lengths, target_lengths)
    entering = torch.where(visited, 3 * numbers + move, -1)
    following = torch.where(visited & ~first, (3 * before + move).long(), -1)
    return entering.flatten(-2), following.flatten(-2)


def shifted(cells: Tensor, rows: int, columns: int) -> Tensor:
    """Return, at each cell (i, j), the value of cell (i + rows, j + columns); 0 if that is outside the grid."""
    if not cells.shape[-1] or not cells.shape[-2]:
        return cells
    return torch.nn.functional.pad(cells, (-columns, columns, -rows, rows))


def cells_within(shape: torch.Size, lengths: Tensor, target_lengths: Tensor) -> Tensor:
    """Return a mask ``batch + shape`` of the cells of a grid within both lengths ``batch``."""
    row, column = _rows_and_columns(shape, lengths.device)
    return (row < lengths[..., None, None]) & (column < target_lengths[..., None, None])


def _rows_and_columns(shape: torch.Size, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return the row ``(n, 1)`` and the column ``(m,)`` of each cell."""
    return torch.arange(shape[0], device=device)[:, None], torch.arange(shape[1], device=device)


def _corners(moves: Tensor, lengths: Tensor, target_lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return masks ``batch + (n, m)`` of the first cell and of the last cell; all False for an empty grid."""
    row, column = _rows_and_columns(moves.shape[-2:], moves.device)
    first = cells_within(moves.shape[-2:], lengths, target_lengths) & (row == 0) & (column == 0)
    return first, (row == lengths[..., None, None] - 1) & (column == target_lengths[..., None, None] - 1)
