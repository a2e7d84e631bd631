"""The CRF autoencoder: dependency trees from unlabelled sentences, by reconstructing each word from its head."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from strukt.nn.inputs import lengths_of_symbols, precise, require_sizes


class CRFAutoencoder(nn.Module):
    """The decoder of a CRF autoencoder of dependency trees: a distribution over words for each head.

    A parser assigns p(h | x) to the trees h of a sentence x. The decoder reconstructs each word m from the form of
    its head h(m) alone. Unlabelled sentences thus have a likelihood, which is a quotient of two partition
    functions:

        p(x' | x) = sum over h of  p(h | x) product over m of q(x'_m | x_h(m))        x': the reconstructed words
        log p(x' | x) = log Z(s + log q) - log Z(s)        s: the scores of arcs, log q[m, h] = log q(x_m | x_h)

    Source: Ammar, Dyer and Smith (2014), "Conditional random field autoencoders for unsupervised structured
    prediction", equation 2.

    Args:
        words: Size of the vocabulary.
        size: Size of the vectors of heads.

    Raises:
        ValueError: If a size is less than 1.

    Examples:
        >>> from strukt.distributions import NonProjectiveTree
        >>> arcs = torch.randn(1, 3, 4, requires_grad=True)  # the scores s
        >>> joint = arcs + CRFAutoencoder(10, 4)(torch.tensor([[3, 5, 3]]))
        >>> log_likelihood = NonProjectiveTree(joint).log_partition - NonProjectiveTree(arcs).log_partition
        >>> (-log_likelihood).sum().backward()  # trains the decoder and the parser
    """

    def __init__(self, words: int, size: int) -> None:
        super().__init__()
        require_sizes(words=words, size=size)
        self.heads = nn.Embedding(words + 1, size)  # the last row is the root
        self.score = nn.Linear(size, words)

    def forward(self, words: Tensor) -> Tensor:
        """Return the log-probability of each word under each head.

        Each item takes O(n size words + n^2) time and O(n words + n^2) memory.

        Args:
            words: ``(batch, n)``, word indices from 0 to ``words - 1``; padding must be in this range, too.

        Returns:
            ``(batch, n, n + 1)``, log q: ``[m, h]`` is that of word m + 1 under head h. Head 0 is the root; in
            the padding of words and heads, entries are meaningless.

        Raises:
            ValueError: If the shape or the type is wrong, or a word is not in the vocabulary.
        """
        lengths_of_symbols("words", words, None, self.score.out_features)
        words = words.long()
        root = words.new_full((len(words), 1), self.score.out_features)
        different, places = torch.unique(torch.cat([root, words], 1), return_inverse=True)
        table = precise(self.score(self.heads(different))).log_softmax(-1)
        return table[places.unsqueeze(1), words.unsqueeze(2)]
