"""Encoders, from word vectors to contextual vectors: the base class and recurrent ones (RNN, LSTM, BiLSTM)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from strukt.checks.lengths import Lengths
from strukt.nn.dropout import SharedDropout
from strukt.nn.inputs import lengths_of, require_sizes

CELLS: dict[str, type[nn.RNN | nn.LSTM]] = {"lstm": nn.LSTM, "rnn": nn.RNN}
"""The recurrent networks of PyTorch by the names of their cells."""


def mask_of(lengths: Tensor, n: int) -> Tensor:
    """Return a mask that is True at the positions inside each sequence.

    Args:
        lengths: `(*batch,)`.
        n: The padded length.

    Returns:
        `(*batch, n)` booleans.

    Examples:
        >>> mask_of(torch.tensor([1, 3]), 3).int()
        tensor([[1, 0, 0],
                [1, 1, 1]], dtype=torch.int32)
    """
    return torch.arange(n, device=lengths.device) < lengths.unsqueeze(-1)


class SentenceEncoder(nn.Module, ABC):
    """The base class of encoders: a module that encodes the words of sentences and ignores the padding.

    Subclasses set both attributes, and implement `_encode(x, lengths)`.

    Attributes:
        inputs: Size of the input vectors.
        size: Size of the output vectors.

    Examples:
        >>> class Sums(SentenceEncoder):
        ...     inputs = size = 1
        ...     def _encode(self, x, lengths):
        ...         return x.cumsum(1)
        >>> Sums()(torch.ones(1, 4, 1), torch.tensor([3])).flatten()  # 0 in the padding
        tensor([1., 2., 3., 0.])
    """

    inputs: int
    size: int

    def forward(self, x: Tensor, lengths: Lengths | None = None) -> Tensor:
        """Encode a batch of sentences.

        Args:
            x: `(batch, n, inputs)`; padding is ignored.
            lengths: `(batch,)`; all n if None.

        Returns:
            `(batch, n, size)`, zero in the padding.

        Raises:
            ValueError: If a shape is wrong, or a length is not between 0 and n.
        """
        lengths = lengths_of("x", x, self.inputs, lengths)
        batch, n, _ = x.shape
        if batch * n == 0:
            return x.new_zeros(batch, n, self.size)
        outside = ~mask_of(lengths, n).unsqueeze(-1)
        return self._encode(x.masked_fill(outside, 0), lengths).masked_fill(outside, 0)

    @abstractmethod
    def _encode(self, x: Tensor, lengths: Tensor) -> Tensor:
        """Map `(batch, n, inputs)`, zero in the padding, to `(batch, n, size)`; neither batch nor n is 0."""


class _Stack(SentenceEncoder):
    """Recurrent layers with dropout between them; their cells have 4 gates in an LSTM, and 1 in a plain RNN."""

    def __init__(
        self, layer: Callable[[int, int], nn.Module], inputs: int, hidden: int, layers: int, dropout: float,
        *, directions: int = 1, gates: int = 4,
    ) -> None:  # fmt: skip
        super().__init__()
        require_sizes(inputs=inputs, hidden=hidden, layers=layers)
        self.inputs, self.size = inputs, directions * hidden
        self.dropout = SharedDropout(dropout)
        self.layers = nn.ModuleList(layer(size, hidden) for size in [inputs] + [self.size] * (layers - 1))
        for name, parameter in self.layers.named_parameters():
            _initialise(name, parameter, gates)

    def _encode(self, x: Tensor, lengths: Tensor) -> Tensor:
        mirrored = _mirrored(lengths, x.shape[1]).unsqueeze(-1)
        for index, layer in enumerate(self.layers):
            x = self.dropout(x) if index else x
            x = layer(x, mirrored)
        return x


class RNN(_Stack):
    """A plain recurrent network (RNN, Elman 1990) that reads sentences from left to right.

    Args:
        inputs: Size of the input vectors.
        hidden: Size of the state and of the output vectors.
        layers: Number of layers.
        dropout: Probability that a feature is dropped for a whole sentence, before each layer but the first.

    Raises:
        ValueError: If a size is less than 1, or `dropout` is not a probability below 1.

    Examples:
        >>> encoder = RNN(8, 16)
        >>> encoder(torch.randn(2, 5, 8), torch.tensor([5, 3])).shape
        torch.Size([2, 5, 16])
    """

    def __init__(self, inputs: int, hidden: int, layers: int = 1, dropout: float = 0.0) -> None:
        super().__init__(partial(_OneWay, kind=nn.RNN), inputs, hidden, layers, dropout, gates=1)


class LSTM(_Stack):
    """An LSTM that reads sentences from left to right, with dropout between layers.

    Args:
        inputs: Size of the input vectors.
        hidden: Size of the state and of the output vectors.
        layers: Number of layers.
        dropout: Probability that a feature is dropped for a whole sentence, before each layer but the first.

    Raises:
        ValueError: If a size is less than 1, or `dropout` is not a probability below 1.

    Examples:
        >>> encoder = LSTM(8, 16, layers=2)
        >>> encoder(torch.randn(2, 5, 8), torch.tensor([5, 3])).shape
        torch.Size([2, 5, 16])
    """

    def __init__(self, inputs: int, hidden: int, layers: int = 1, dropout: float = 0.0) -> None:
        super().__init__(_OneWay, inputs, hidden, layers, dropout)


class BiLSTM(_Stack):
    """A bidirectional LSTM (BiLSTM), with dropout between layers.

    Args:
        inputs: Size of the input vectors.
        hidden: Size of each direction; output vectors have twice this size.
        layers: Number of layers.
        dropout: Probability that a feature is dropped for a whole sentence, before each layer but the first.

    Raises:
        ValueError: If a size is less than 1, or `dropout` is not a probability below 1.

    Examples:
        >>> encoder = BiLSTM(8, 16, layers=2)
        >>> encoder(torch.randn(2, 5, 8), torch.tensor([5, 3])).shape
        torch.Size([2, 5, 32])
    """

    def __init__(self, inputs: int, hidden: int, layers: int = 1, dropout: float = 0.0) -> None:
        super().__init__(_BothWays, inputs, hidden, layers, dropout, directions=2)


class _OneWay(nn.Module):
    """A layer that reads sentences from left to right."""

    def __init__(self, inputs: int, hidden: int, kind: type[nn.RNN | nn.LSTM] = nn.LSTM) -> None:
        super().__init__()
        self.forwards = kind(inputs, hidden, batch_first=True)

    def forward(self, x: Tensor, mirrored: Tensor) -> Tensor:  # noqa: ARG002
        """Map `(batch, n, inputs)` to `(batch, n, hidden)`."""
        return run_recurrent(self.forwards, x)[0]


class _BothWays(nn.Module):
    """A layer of two LSTMs, one from left to right and one from right to left.

    Packed sequences would save the steps in the padding, but cost more than they save: on the CPU their backward
    pass slices the sequence step by step, instead of running one fused kernel.
    """

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.forwards = nn.LSTM(inputs, hidden, batch_first=True)
        self.backwards = nn.LSTM(inputs, hidden, batch_first=True)

    def forward(self, x: Tensor, mirrored: Tensor) -> Tensor:
        """Map `(batch, n, inputs)` to `(batch, n, 2 hidden)`, given mirrored positions `(batch, n, 1)`."""
        left = run_recurrent(self.backwards, x.take_along_dim(mirrored, 1))[0].take_along_dim(mirrored, 1)
        return torch.cat([run_recurrent(self.forwards, x)[0], left], -1)


def run_recurrent(
    network: nn.RNN | nn.LSTM, x: Tensor, *start: Tensor
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Run a recurrent network in the dtype of its weights, on CPUs even under autocast.

    PyTorch's fused kernels fail in bfloat16 on processors that do not support it.

    Args:
        network: A plain RNN or an LSTM, with ``batch_first=True``.
        x: `(batch, n, inputs)`.
        start: The initial states, and cells for an LSTM, `(layers, batch, hidden)` each; zeros by default.

    Returns:
        Outputs `(batch, n, hidden)`, and the final states (and cells), in the order and shape of `start`.

    Examples:
        >>> outputs, (state, cell) = run_recurrent(nn.LSTM(2, 3, batch_first=True), torch.randn(1, 4, 2))
        >>> outputs.shape, state.shape
        (torch.Size([1, 4, 3]), torch.Size([1, 1, 3]))
    """
    with torch.autocast("cpu", enabled=False):
        dtype = next(network.parameters()).dtype
        before = tuple(part.to(dtype) for part in start)
        if isinstance(network, nn.LSTM):
            outputs, after = network(x.to(dtype), before or None)
            return outputs, after
        outputs, state = network(x.to(dtype), *before)
        return outputs, (state,)


def _mirrored(lengths: Tensor, n: int) -> Tensor:
    """Return the permutation `(batch, n)` that reverses each sentence and, separately, its padding.

    It is its own inverse.

    Examples:
        >>> _mirrored(torch.tensor([3, 4]), 4)
        tensor([[2, 1, 0, 3],
                [3, 2, 1, 0]])
    """
    return (lengths.unsqueeze(-1) - 1 - torch.arange(n, device=lengths.device)) % n


@torch.no_grad()
def _initialise(name: str, parameter: Tensor, gates: int) -> None:
    """Draw an orthogonal matrix for each gate; an LSTM's forget gate starts open (Jozefowicz et al., 2015)."""
    if parameter.dim() == 2:
        for gate in parameter.chunk(gates):
            nn.init.orthogonal_(gate)
        return
    parameter.zero_()
    if gates == 4 and "bias_ih" in name:
        parameter.chunk(gates)[1].fill_(1.0)
