"""Neural and compound probabilistic context-free grammars (PCFGs), with rules computed from embeddings."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from strukt.checks.lengths import Lengths
from strukt.distributions import PCFG, LowRankPCFG
from strukt.nn.encoders import BiLSTM, mask_of
from strukt.nn.inputs import lengths_of_symbols, require_sizes
from strukt.nn.residual import Residual


class NeuralPCFG(nn.Module):
    """A neural probabilistic context-free grammar (PCFG): small networks compute its rules from embeddings.

    The rules of a nonterminal are a softmax over all pairs of children. With ``rank``, a nonterminal chooses one
    of r ranks, and the rank chooses the left and the right child independently.

    Args:
        nonterminals: Number of nonterminals s, the symbols of spans of two or more words.
        preterminals: Number of preterminals p, the symbols of words.
        words: Size of the vocabulary, v.
        rank: Rank r of the rules; None for unrestricted rules, s (s + p)^2 in number.
        size: Size of the vectors.
        context: Size of a vector for each sentence, which is concatenated with the vectors of symbols and ranks; 0
            for none.

    Raises:
        ValueError: If a number is less than 1, or `context` is below 0.

    Source:
        Kim, Dyer and Rush (2019), "Compound probabilistic context-free grammars for grammar induction", section
        2.1; with ranks Yang, Zhao and Tu (2021), "PCFGs can do better: inducing probabilistic context-free
        grammars with many symbols", section 4.

    Examples:
        >>> model = NeuralPCFG(nonterminals=3, preterminals=5, words=20, size=8)
        >>> trees = model(torch.randint(20, (2, 6)), torch.tensor([6, 4]))
        >>> trees.log_partition.shape, trees.mbr.shape  # the log-probability of the sentences, and their trees
        (torch.Size([2]), torch.Size([2, 7, 7]))
        >>> type(NeuralPCFG(30, 50, words=20, rank=10)(torch.randint(20, (2, 6)))).__name__
        'LowRankPCFG'
    """

    def __init__(
        self,
        nonterminals: int,
        preterminals: int,
        words: int,
        rank: int | None = None,
        size: int = 256,
        context: int = 0,
    ) -> None:
        super().__init__()
        require_sizes(nonterminals=nonterminals, preterminals=preterminals, words=words, size=size)
        require_sizes(rank=1 if rank is None else rank)
        if context < 0:
            raise ValueError(f"context is {context}; expected at least 0")
        symbols = nonterminals + preterminals
        self.rank, self.symbols, self.words, self.context = rank, symbols, words, context
        self.start = nn.Parameter(torch.empty(1, size))
        self.nonterminals = nn.Parameter(torch.empty(nonterminals, size))
        self.preterminals = nn.Parameter(torch.empty(preterminals, size))
        self.rooting = _network(size + context, size, nonterminals)
        self.saying = _network(size + context, size, words)
        self.heading = nn.Linear(size + context, symbols**2 if rank is None else rank)
        if rank is not None:
            self.ranks = nn.Parameter(torch.empty(rank, size))
            self.left, self.right = (_network(size + context, size, symbols) for _ in range(2))
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)

    def forward(
        self, x: Tensor, lengths: Lengths | None = None, context: Tensor | None = None
    ) -> PCFG | LowRankPCFG:
        """Return the distribution over trees of sentences; its log-partition is the log-probability of a sentence.

        A sentence of one word has no tree, and the log-partition -inf; that of an empty sentence is 0.

        Args:
            x: ``(batch, n)``, words from 0 to v - 1; any number in the padding.
            lengths: ``(batch,)``; all n if None.
            context: ``(batch, context)``, if the model has contexts; else None.

        Raises:
            ValueError: If a shape is wrong, a length is not between 0 and n, or a word is not in the vocabulary.
        """
        lengths = lengths_of_symbols("x", x, lengths, self.words)
        self._require_context(context, len(x))
        root = self._log_probs(self.rooting, self.start, context).squeeze(-2)
        table = self._log_probs(self.saying, self.preterminals, context)
        emission = _of_words(table, x.long().clamp(0, self.words - 1))  # padding is never read
        head = self._log_probs(self.heading, self.nonterminals, context)
        if self.rank is None:
            rules = head.view(*head.shape[:-1], self.symbols, self.symbols)
            return PCFG(root, rules, emission, lengths, validate_args=False)
        left, right = (self._log_probs(network, self.ranks, context) for network in (self.left, self.right))
        return LowRankPCFG(root, left, right, head, emission, lengths, validate_args=False)

    def _require_context(self, context: Tensor | None, batch: int) -> None:
        shape = None if context is None else tuple(context.shape)
        expected = (batch, self.context) if self.context else None
        if shape != expected:
            raise ValueError(f"context has shape {shape}; expected {expected}, the context of the grammar")

    def _log_probs(self, network: nn.Module, vectors: Tensor, context: Tensor | None) -> Tensor:
        """Map vectors ``(m, size)`` to log-probabilities ``(m, k)``, or ``(batch, m, k)`` with context."""
        if context is not None:
            both = (
                vectors.expand(len(context), *vectors.shape),
                context.unsqueeze(1).expand(-1, len(vectors), -1),
            )
            vectors = torch.cat(both, -1)
        scores: Tensor = network(vectors)
        return scores.log_softmax(-1)


class CompoundTrees(NamedTuple):
    """The result of a `CompoundPCFG` for sentences.

    Attributes:
        trees: The distribution over trees, given the latent vector of each sentence.
        divergence: ``(batch,)``, the Kullback-Leibler (KL) divergence of the posterior of the latent vector from
            its prior, in nats. The expected log-partition of ``trees`` minus this divergence is the evidence lower
            bound (ELBO) of the log-probability of a sentence.
    """

    trees: PCFG | LowRankPCFG
    divergence: Tensor


class CompoundPCFG(nn.Module):
    """A compound PCFG: the rules of each sentence depend on a latent Gaussian vector, inferred by a network.

    Args:
        nonterminals: Number of nonterminals, s.
        preterminals: Number of preterminals, p.
        words: Size of the vocabulary, v.
        rank: Rank r of the rules; None for unrestricted rules.
        size: Size of the vectors of symbols and words.
        latent: Size of the Gaussian vector.

    Raises:
        ValueError: If a number is less than 1.

    Source: Kim, Dyer and Rush (2019), sections 2.2 and 2.3.

    Examples:
        >>> model = CompoundPCFG(nonterminals=3, preterminals=5, words=20, size=8, latent=4)
        >>> trees, divergence = model(torch.randint(20, (2, 6)), torch.tensor([6, 4]))
        >>> (trees.log_partition - divergence).mean().backward()  # the evidence lower bound, to be maximised
    """

    def __init__(
        self,
        nonterminals: int,
        preterminals: int,
        words: int,
        rank: int | None = None,
        size: int = 256,
        latent: int = 64,
    ) -> None:
        super().__init__()
        require_sizes(latent=latent)
        self.grammar = NeuralPCFG(nonterminals, preterminals, words, rank, size, latent)
        self.vectors = nn.Embedding(words, size)
        self.reader = BiLSTM(size, size)
        self.posterior = nn.Linear(2 * size, 2 * latent)

    def forward(self, x: Tensor, lengths: Lengths | None = None) -> CompoundTrees:
        """Return the trees and the divergence; training samples the latent vectors, prediction uses their mean.

        A sentence of one word has no tree, and the log-partition -inf; that of an empty sentence is 0.

        Args:
            x: ``(batch, n)``, words from 0 to v - 1; any number in the padding.
            lengths: ``(batch,)``; all n if None.

        Raises:
            ValueError: If a shape is wrong, a length is not between 0 and n, or a word is not in the vocabulary.
        """
        lengths = lengths_of_symbols("x", x, lengths, self.grammar.words)
        mean, log_variance = self._read(x, lengths).chunk(2, -1)
        divergence = (mean.square() + log_variance.exp() - 1 - log_variance).sum(-1) / 2
        noise = torch.randn_like(mean) if self.training else torch.zeros_like(mean)
        context = mean + noise * (log_variance / 2).exp()
        return CompoundTrees(self.grammar(x, lengths, context), divergence)

    def _read(self, x: Tensor, lengths: Tensor) -> Tensor:
        """Return the means and log-variances of the posterior, ``(batch, 2 latent)``, side by side."""
        outside = ~mask_of(lengths, x.shape[1])
        states = self.reader(self.vectors(x.long().masked_fill(outside, 0)), lengths)
        # There is no maximum over 0 words; their sum is 0.
        highest = states.masked_fill(outside.unsqueeze(-1), -torch.inf)
        highest = highest.amax(1) if x.shape[1] else highest.sum(1)
        result: Tensor = self.posterior(torch.where(lengths.unsqueeze(-1) > 0, highest, 0.0))
        return result


def _network(inputs: int, size: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, size), Residual(size), Residual(size), nn.Linear(size, outputs))


def _of_words(table: Tensor, x: Tensor) -> Tensor:
    """Return the columns of a table ``(p, v)`` or ``(batch, p, v)`` for the words ``x``: ``(batch, n, p)``."""
    if table.dim() == 2:
        return table.mT[x]
    return table.gather(2, x.unsqueeze(1).expand(-1, table.shape[1], -1)).mT
