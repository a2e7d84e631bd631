"""Grammars as distributions over sentences and their trees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import repeat

import torch
from torch import Tensor
from typing_extensions import override

from strukt.automata import Automaton
from strukt.data import brackets
from strukt.data.constituents import Tree
from strukt.data.sentence import Sentence
from strukt.distributions import PCFG, LowRankPCFG
from strukt.errors import SettingError
from strukt.nn import CompoundPCFG, NeuralPCFG
from strukt.nn.neural_pcfg import CompoundTrees
from strukt.structures.pcfg.guide import PCFGGuide
from strukt.tasks.common.scores import ScoresError, draw
from strukt.tasks.common.sentences import require_format
from strukt.tasks.common.spans.layer import spans_of
from strukt.tasks.lm.texts.text import State, Text
from strukt.viz import Bracket, BracketDiagram

MOST_RULES = 10_000
"""Maximum number of rules that sampling expands per word; with a grammar that needs more, it may never end."""


class GrammaticalText(Text):
    """A grammar as a distribution over whole sentences and their trees.

    Args:
        symbols: The words, in the order of their indices.
        grammar: The grammar over word indices.
    """

    def __init__(self, symbols: Sequence[str], grammar: NeuralPCFG | CompoundPCFG) -> None:
        super().__init__(symbols)
        self.grammar = grammar

    @override
    def stream(self, x: Tensor, lengths: Tensor, state: State = None) -> tuple[Tensor, State]:
        """Return the log-probability of whole sentences, ``(batch,)``, and `state` unchanged.

        For compound grammars, return an estimate of a lower bound, from one latent vector of each sentence: a
        random one in training, the mean in prediction.
        """
        trees, divergence = self._read(x, lengths)
        return trees.log_partition - divergence, state

    def _read(self, x: Tensor, lengths: Tensor) -> CompoundTrees:
        """Return the distribution over trees and the KL divergence, which is 0 unless the grammar is compound."""
        trees = self.grammar(x, lengths)
        if isinstance(trees, CompoundTrees):
            return trees
        return CompoundTrees(trees, torch.zeros(len(x), device=x.device))

    @override
    def word_log_probs(self, x: Tensor, lengths: Tensor) -> Tensor:
        """Always raise a SettingError, because a grammar does not predict word by word."""
        raise SettingError("a grammar has probabilities of whole sentences, not of each word")

    @override
    def sample(self, count: int, length: int) -> Tensor:
        """Sample sentences, ``(count, length)``, cut off after `length` words; -1 after the end of a sentence.

        Raises:
            ScoresError: If the scores of the model cannot be used, or a sentence needs too many rules for a word.
        """
        drawn = torch.full((count, length), -1)
        for row, rules in zip(drawn, self._rules(), strict=False):
            words = rules.sentence(length)
            row[: len(words)] = torch.tensor(words, dtype=torch.long)
        return drawn

    @override
    def guide(self, constraint: Automaton, length: int, end: int) -> PCFGGuide:
        """Return the distribution over whole sentences of two or more words that satisfy the constraint.

        Raises:
            SettingError: If the grammar is compound, or is a low-rank grammar with too many rules.
            InfeasibleError: If no sentence satisfies the constraint.
        """
        if isinstance(self.grammar, CompoundPCFG):
            raise SettingError("a constraint needs a grammar with the same rules for all sentences (--latent 0)")
        with torch.no_grad():
            trees = self.grammar(torch.arange(len(self.symbols))[None])
            if isinstance(trees, LowRankPCFG):
                trees = _with_all_rules(trees)
        _, root, rules, emission = trees.scores
        return PCFGGuide(root, rules, emission[0], constraint, length, end)

    def _rules(self) -> Iterator[_Rules]:
        """Yield the rules for one sentence after another, endlessly; a compound grammar samples them each time."""
        words, grammar = torch.arange(len(self.symbols))[None], self.grammar
        if not isinstance(grammar, CompoundPCFG):
            yield from repeat(_Rules(grammar(words)))
        while isinstance(grammar, CompoundPCFG):
            yield _Rules(grammar.grammar(words, context=torch.randn(1, grammar.grammar.context)))

    def trees(self, x: Tensor, lengths: Tensor) -> list[list[Bracket]]:
        """Return the tree of each sentence with the largest expected number of correct spans (MBR).

        The labels are numbered symbols: NT0, NT1, ... for nonterminals, T0, T1, ... for preterminals.
        """
        distribution, _ = self._read(x, torch.where(lengths == 1, 0, lengths))
        s, tags = distribution.scores[1].shape[-1], distribution.scores[-1].argmax(-1)
        trees = [
            [Bracket(f"NT{label}" if label < s else f"T{label - s}", i, j) for i, j, label in spans_of(event)]
            for event in distribution.mbr
        ]
        for item in (lengths == 1).nonzero().flatten().tolist():  # no nonterminal can span a single word
            trees[item] = [Bracket(f"T{int(tags[item, 0])}", 0, 1)]
        return trees

    @override
    def annotated(self, sentences: Sequence[Sentence], x: Tensor, lengths: Tensor) -> list[Sentence]:
        """Return the sentences with the predicted trees."""
        return [
            _with_tree(sentence, tree)
            for sentence, tree in zip(sentences, self.trees(x, lengths), strict=True)
        ]

    @override
    def picture(self, forms: Sequence[str], x: Tensor) -> BracketDiagram:
        """Draw the predicted tree of a sentence."""
        (spans,) = self.trees(x, torch.tensor([x.shape[1]], device=x.device))
        tags = [span.label for span in spans if span.end == span.start + 1]
        return BracketDiagram(forms, [span for span in spans if span.end > span.start + 1], tags)


class _Rules:
    """The probabilities of the rules of a grammar, from which sentences are sampled."""

    def __init__(self, trees: PCFG | LowRankPCFG) -> None:
        _, root, *rules, emission = (score.exp() for score in trees.scores)
        self.emission = emission[0].T
        self.root, *self.rules = [root, *rules] if root.dim() == 1 else [score[0] for score in (root, *rules)]

    def sentence(self, length: int) -> list[int]:
        """Sample the first words of a sentence, at most `length`."""
        words: list[int] = []
        symbols = [_drawn(self.root)]  # a stack of symbols to expand
        while symbols and len(words) < length:
            words.append(self._next_word(symbols))
        return words

    def _next_word(self, symbols: list[int]) -> int:
        """Expand the symbols on the stack up to the next word, and return that word."""
        for _ in range(MOST_RULES):
            symbol = symbols.pop()
            if symbol >= len(self.root):
                return _drawn(self.emission[symbol - len(self.root)])
            left, right = self._children(symbol)
            symbols += [right, left]
        raise ScoresError(f"a sentence needs more than {MOST_RULES:,} rules for its next word")

    def _children(self, symbol: int) -> tuple[int, int]:
        if len(self.rules) == 1:
            pairs = self.rules[0][symbol]
            return divmod(_drawn(pairs.flatten()), pairs.shape[1])
        left, right, head = self.rules
        rank = _drawn(head[symbol])
        return _drawn(left[rank]), _drawn(right[rank])


def _with_all_rules(trees: LowRankPCFG) -> PCFG:
    try:
        return trees.to_pcfg()
    except NotImplementedError as error:
        raise SettingError("a constraint needs a smaller grammar: this one has too many rules") from error


def _drawn(probabilities: Tensor) -> int:
    return int(draw(probabilities))


def _with_tree(sentence: Sentence, spans: Sequence[Bracket]) -> Sentence:
    message = "only brackets have a place for trees; give a file of them, or draw the tree with strukt show"
    bracketed = require_format(sentence, brackets.Sentence, message)
    tags = [span.label for span in spans if span.end == span.start + 1]
    wider = [(span.start, span.end, span.label) for span in spans if span.end > span.start + 1]
    return bracketed.annotated(tree=Tree.build(sentence.forms, tags, wider))
