"""Vectors of sentences from dependency trees: latent, given, or of a fixed shape."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from torch import Tensor, nn

from strukt.errors import SettingError
from strukt.nn import ChildSumTreeLSTM, LatentStructure, Mixture, TreeGCN, TreeStates
from strukt.nn.estimators import ESTIMATORS, Estimator, Marginals, Relaxed, Sample, SparseMarginals, TopK
from strukt.nn.latent_trees import FIXED, FixedTrees, TreeScorer
from strukt.tasks.common.classes.config import LatentTreeConfig


class TreeReader(nn.Module):
    """A network that reads the dependency trees of a sentence, and computes a vector from each tree.

    Args:
        size: Size of the vectors of words.
        config: The choice of trees and network.

    Attributes:
        size: Size of the vectors of sentences.

    Raises:
        SettingError: If `config.reader` is ``lstm``, and the estimator is ``marginals``, ``sparse-marginals`` or
            ``relaxed``: a tree LSTM cannot read their soft trees, in which a word has several heads.
    """

    def __init__(self, size: int, config: LatentTreeConfig) -> None:
        super().__init__()
        self.size = config.hidden
        is_latent = config.tree == "latent"
        estimator = _estimator(config) if is_latent else Marginals()
        if (
            is_latent
            and config.reader == "lstm"
            and isinstance(estimator, (Marginals, Relaxed, SparseMarginals))
        ):
            raise SettingError(
                f"latent.estimator {config.estimator} gives soft trees, which latent.reader lstm cannot read; "
                "choose gcn, or another estimator"
            )
        network = ChildSumTreeLSTM if config.reader == "lstm" else TreeGCN
        self.network = network(size, config.hidden)
        self.tree = config.tree
        self.detach = config.detach
        self.scorer = TreeScorer(size, config.arc_size) if is_latent else None
        self.latent = LatentStructure(self._read, _trees, estimator)

    @property
    def estimator(self) -> Estimator:
        """The estimator, which selects the trees to read."""
        return self.latent.estimator

    def forward(self, vectors: Tensor, lengths: Tensor, heads: Tensor | None) -> Mixture:
        """Return vectors of sentences, one for each tree, as outputs of a mixture: `(pairs, size)`.

        Args:
            vectors: ``(batch, n, size)``, the vectors of words.
            lengths: ``(batch,)``, the numbers of words.
            heads: ``(batch, n)``, given trees, numbered as in the column HEAD and padded with -1; None for latent
                trees and trees of a fixed shape.
        """
        trees = self.trees(vectors, lengths, heads)
        mixture: Mixture = self.latent(self.network.project(vectors, lengths), lengths, trees)
        return mixture

    def trees(self, vectors: Tensor, lengths: Tensor, heads: Tensor | None = None) -> Any:
        """Return the distribution over latent trees, or the given or fixed trees.

        The arguments are those of `forward`.

        With `detach`, scores of latent trees have no gradient with respect to the vectors. Early in training,
        these gradients are mostly noise, and in a shared encoder they would outweigh the gradients through the
        words.
        """
        if self.scorer is not None:
            return self.scorer(vectors.detach() if self.detach else vectors, lengths)
        fixed = FIXED[self.tree](lengths, vectors.shape[1]) if heads is None else heads
        return FixedTrees.of_heads(fixed, vectors.dtype)

    def _read(self, arcs: Tensor, projected: Tensor, lengths: Tensor, _: Any) -> Tensor:
        states = self.network.read(projected, arcs, lengths)
        if isinstance(states, TreeStates):
            return states.root
        mean: Tensor = states.sum(1) / lengths.clamp(min=1).unsqueeze(-1)
        return mean


def _trees(_projected: Tensor, _lengths: Tensor, trees: Any) -> Any:
    """Return the trees unchanged: `TreeReader.trees` has computed them."""
    return trees


def _estimator(config: LatentTreeConfig) -> Estimator:
    estimator = ESTIMATORS[config.estimator]
    if isinstance(estimator, TopK):
        return replace(estimator, k=config.count)
    return replace(estimator, count=config.count) if isinstance(estimator, Sample) else estimator
