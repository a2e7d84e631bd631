"""Word embeddings from the word itself, its characters (CNN or LSTM), and its affixes."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from strukt.checks import arguments
from strukt.nn.encoders import BiLSTM
from strukt.nn.inputs import require_sizes

PADDING, UNKNOWN = 0, 1


class CharacterCNN(nn.Module):
    """A character CNN: convolutions of several widths over the characters of a word, then max-pooling.

    Args:
        characters: Size of the character vocabulary; index 0 is padding, at the end of a word.
        size: Size of the output vectors; a multiple of the number of widths.
        embedding: Size of the character vectors.
        widths: Odd widths of the convolutions.

    Raises:
        ValueError: If a size or a width is less than 1, `widths` is empty or contains an even number, or `size` is
            not a multiple of the number of widths.

    Examples:
        >>> CharacterCNN(30, 12)(torch.tensor([[4, 5, 0], [7, 8, 9]])).shape
        torch.Size([2, 12])
    """

    def __init__(
        self, characters: int, size: int, embedding: int = 32, widths: tuple[int, ...] = (1, 3, 5)
    ) -> None:
        super().__init__()
        require_sizes(characters=characters, size=size, embedding=embedding)
        if not widths:
            raise ValueError("widths is empty; expected at least one odd width")
        require_sizes(**{f"widths[{index}]": width for index, width in enumerate(widths)})
        if size % len(widths) or not all(width % 2 for width in widths):
            raise ValueError(
                f"size is {size} and widths {widths}; expected a multiple of {len(widths)}, and odd widths"
            )
        self.size = size
        self.embedding = nn.Embedding(characters, embedding, padding_idx=PADDING)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(embedding, size // len(widths), width, padding=width // 2) for width in widths
        )

    def forward(self, characters: Tensor) -> Tensor:
        """Map indices of characters `(words, longest word)` to vectors of words `(words, size)`.

        A word without characters has a vector of zeros.

        Raises:
            ValueError: If `characters` has another shape, does not hold integers, or is on another device.
            IndexError: If an index is out of range, on the CPU.
        """
        _require_words(characters, self.embedding.weight.device)
        if characters.numel() == 0:
            return self.embedding.weight.new_zeros(len(characters), self.size)
        x = self.embedding(characters.long()).transpose(1, 2)
        outside = (characters == PADDING).unsqueeze(1)
        features = torch.cat([convolution(x) for convolution in self.convolutions], 1)
        # After the ReLU no value is below 0: zeros in the padding never win, and an empty word has the vector 0.
        return features.relu().masked_fill(outside, 0).amax(-1)


class CharacterLSTM(nn.Module):
    """A character BiLSTM: the last states of both directions over the characters of a word.

    Args:
        characters: Size of the character vocabulary; index 0 is padding, at the end of a word.
        size: Size of the output vectors; even.
        embedding: Size of the character vectors.

    Raises:
        ValueError: If a size is less than 1, or `size` is odd.

    Examples:
        >>> CharacterLSTM(30, 12)(torch.tensor([[4, 5, 0], [7, 8, 9]])).shape
        torch.Size([2, 12])
    """

    def __init__(self, characters: int, size: int, embedding: int = 32) -> None:
        super().__init__()
        require_sizes(characters=characters, size=size, embedding=embedding)
        if size % 2:
            raise ValueError(f"size is {size}; expected an even number")
        self.size = size
        self.embedding = nn.Embedding(characters, embedding, padding_idx=PADDING)
        self.lstm = BiLSTM(embedding, size // 2)

    def forward(self, characters: Tensor) -> Tensor:
        """Map indices of characters `(words, longest word)` to vectors of words `(words, size)`.

        A word without characters has a vector of zeros.

        Raises:
            ValueError: If `characters` has another shape, does not hold integers, or is on another device.
            IndexError: If an index is out of range, on the CPU.
        """
        _require_words(characters, self.embedding.weight.device)
        lengths = (characters != PADDING).sum(-1)
        states: Tensor = self.lstm(self.embedding(characters.long()), lengths)
        if states.numel() == 0:
            return states.new_zeros(len(characters), self.size)
        forward, backward = states.chunk(2, -1)
        last = (lengths - 1).clamp(min=0)
        return torch.cat([forward[torch.arange(last.shape[0], device=last.device), last], backward[:, 0]], -1)


def _require_words(characters: Tensor, device: torch.device) -> None:
    arguments.integers("characters", characters, "(words, longest word)", device)
    if characters.dim() != 2:
        shape = tuple(characters.shape)
        raise ValueError(f"characters has shape {shape}; expected (words, longest word)")


class WordEmbeddings(nn.Module):
    """Word embeddings: concatenates the vectors of a word, of its affixes and of its characters.

    The vectors from characters and affixes are computed once for each distinct form of a batch.

    Args:
        words: Size of the word vocabulary; index 0 is padding and 1 the unknown word.
        size: Size of the word vectors.
        characters: A module that maps `(forms, longest form)` to `(forms, size)`; None for no character vectors.
        affixes: Sizes of the vocabularies of affixes, one for each kind, such as suffixes of three letters; None
            for no affixes.
        affix_size: Size of the vector of each affix; ignored without affixes.
        word_dropout: Probability of replacing a word with the unknown word in training; its characters and affixes
            are kept.

    Attributes:
        size: Size of the output vectors, the sum of the sizes of their parts.

    Raises:
        ValueError: If a size is less than 1, `words` is less than 2, or `word_dropout` is not from 0 to 1.

    Examples:
        >>> from strukt.nn import CharacterCNN
        >>> embeddings = WordEmbeddings(50, 8, CharacterCNN(30, 12), affixes=[20, 20], affix_size=4)
        >>> words, form = torch.tensor([[3, 1, 3]]), torch.tensor([[0, 1, 0]])
        >>> characters, affixes = torch.tensor([[4, 5], [7, 8]]), torch.tensor([[2, 3], [1, 1]])
        >>> embeddings(words, form, characters, affixes).shape
        torch.Size([1, 3, 28])
    """

    def __init__(
        self,
        words: int,
        size: int,
        characters: CharacterCNN | CharacterLSTM | None = None,
        affixes: list[int] | None = None,
        affix_size: int = 32,
        word_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        require_sizes(words=words, size=size)
        if affixes:
            sizes = {f"affixes[{kind}]": count for kind, count in enumerate(affixes)}
            require_sizes(**sizes, affix_size=affix_size)
        if words < 2:
            raise ValueError(f"words is {words}; expected at least 2, for padding and the unknown word")
        self.words = nn.Embedding(words, size, padding_idx=PADDING)
        self.characters = characters
        self.affixes = nn.ModuleList(nn.Embedding(count, affix_size) for count in affixes or [])
        if not 0 <= word_dropout <= 1:
            raise ValueError(f"word_dropout is {word_dropout}; expected a probability, 0 to 1")
        self.word_dropout = word_dropout
        self.size = size + (characters.size if characters else 0) + affix_size * len(self.affixes)

    def forward(self, words: Tensor, form: Tensor, characters: Tensor, affixes: Tensor) -> Tensor:
        """Look up the words.

        Args:
            words: `(batch, n)` indices of words.
            form: `(batch, n)`, for each word its row in `characters` and `affixes`.
            characters: `(forms, longest form)` indices; ignored without character vectors.
            affixes: `(forms, number of kinds)` indices; ignored without affixes.

        Returns:
            `(batch, n, size)`.

        Raises:
            ValueError: If `characters` has the wrong shape or type.
            IndexError: If an index is out of range, on the CPU.
        """
        vectors = [vector[form.long()] for vector in self._of_parts(characters, affixes)]
        return torch.cat([self.words(self._with_unknown(words).long()), *vectors], -1)

    def of_forms(self, words: Tensor, characters: Tensor, affixes: Tensor) -> Tensor:
        """Return the vector of each form, without word dropout, as `forward` does in evaluation.

        Args:
            words: `(forms,)` indices of words.
            characters: `(forms, longest form)` indices; ignored without character vectors.
            affixes: `(forms, number of kinds)` indices; ignored without affixes.

        Returns:
            `(forms, size)`.

        Raises:
            ValueError: If `characters` has the wrong shape or type.
            IndexError: If an index is out of range, on the CPU.
        """
        return torch.cat([self.words(words.long()), *self._of_parts(characters, affixes)], -1)

    def _of_parts(self, characters: Tensor, affixes: Tensor) -> list[Tensor]:
        """Return the vectors of forms from each kind of affix, then from characters: `(forms, size)` each."""
        vectors = [embedding(affixes[:, kind].long()) for kind, embedding in enumerate(self.affixes)]
        return vectors if self.characters is None else [*vectors, self.characters(characters)]

    @torch.no_grad()
    def start_alike(self) -> None:
        """Redraw the word vectors from a small range (Xavier uniform), so that words start out similar."""
        nn.init.xavier_uniform_(self.words.weight)
        self.words.weight[PADDING].zero_()

    def _with_unknown(self, words: Tensor) -> Tensor:
        if not self.training or self.word_dropout == 0:
            return words
        dropped = torch.empty_like(words, dtype=torch.float).bernoulli_(self.word_dropout).bool()
        return words.masked_fill(dropped & (words != PADDING), UNKNOWN)
