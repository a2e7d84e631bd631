"""Spans as tags of words in a linear chain: a baseline that finds only the outermost spans."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from strukt.data.constituents.binarisation import EMPTY
from strukt.data.tag_schemes import OUTSIDE, scheme_of
from strukt.data.tag_schemes.spans import spans
from strukt.data.vocabulary import Vocabulary
from strukt.distributions import LinearChain
from strukt.nn import CRF, tag_constraints
from strukt.tasks.common.mean_loss import Average, mean_loss
from strukt.tasks.common.partial_annotation import FORBIDDEN, agreeing_values, losses_of_sets
from strukt.tasks.common.scores import not_nan
from strukt.tasks.common.spans.layer import GoldSpans, SpanLayer
from strukt.tasks.common.spans.prediction import PredictedSpan
from strukt.tasks.ner.excluded_spans import Span, copies, without_spans


class TagSpans(SpanLayer):
    """A linear-chain CRF over tags (Lample et al. 2016), or a softmax for each tag.

    With the softmax, transition scores stay 0, and predicted tags may break the tagging scheme.

    Args:
        size: Size of the vectors of words.
        labels: The labels of spans in the training corpus.
        scheme: Tagging scheme, see `strukt.data.tag_schemes`.
        decoder: ``crf`` to predict all tags of a sentence jointly, ``softmax`` to predict each tag on its own.
        average: Unit over which the loss is a mean; see `mean_loss`.
    """

    def __init__(
        self,
        size: int,
        labels: Vocabulary,
        scheme: Literal["bio", "bioes"] = "bio",
        decoder: Literal["crf", "softmax"] = "crf",
        average: Average = "words",
    ) -> None:
        super().__init__(labels)
        self.average = average
        types = [label for label in labels.symbols if label != EMPTY]
        self.scheme = scheme_of(scheme)
        self.tags = [OUTSIDE, *(f"{mark}-{label}" for label in types for mark in self.scheme.marks)]
        self._number = {tag: index for index, tag in enumerate(self.tags)}
        self.decoder = decoder
        self.score = nn.Linear(size, len(self.tags))
        self.crf = CRF(len(self.tags), tag_constraints(self.tags, scheme) if decoder == "crf" else None)
        self.crf.requires_grad_(decoder == "crf")

    def scores(self, words: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Return the scores of tags, ``(batch, n, tags)``, and of transitions, ``(tags, tags)``."""
        scores: Tensor = self.score(words)
        return self.crf.scores(scores.float(), lengths)

    def distribution(self, words: Tensor, lengths: Tensor) -> LinearChain:
        return LinearChain(*self.scores(words, lengths), lengths)

    def loss(self, views: Sequence[Tensor], gold: GoldSpans, lengths: Tensor) -> Tensor:
        """Return the mean negative log-likelihood of the tags, per word or per sentence (`average`).

        The tags are those of the outermost gold spans; spans inside others are ignored. In partially annotated
        sentences, the likelihood is that of all tag sequences that agree with the annotation.
        """
        (words,) = views
        tags, chain = self._tags_of(gold, words.shape[:2]), self.distribution(words, lengths)
        if gold.partial is None:
            return mean_loss(-chain.log_prob(tags), lengths, self.average)
        agreeing = agreeing_values(tags, self._longer(gold, chain.scores[0].shape))
        losses = self._losses(chain, chain.condition(forbidden=~agreeing), gold)
        return mean_loss(losses, lengths, self.average)

    def _losses(self, chain: LinearChain, agreeing: LinearChain, gold: GoldSpans) -> Tensor:
        """Return the negative log-probability of the tags that agree with partial annotation, ``(batch,)``."""
        losses, forbidden = losses_of_sets(chain, agreeing), defaultdict(list)
        columns = [gold.forbidden[f"{FORBIDDEN}{axis}"] for axis in range(3)]
        for item, place in (columns[0] >= 0).nonzero().tolist():
            start, end, label = (int(column[item, place]) for column in columns)
            forbidden[item].append((start, end, self.labels.symbols[label]))
        rows = list(losses)
        for item, excluded in forbidden.items():
            rows[item] = chain.log_partition[item] - self._excluding(agreeing, item, excluded).log_partition
        return torch.stack(rows)

    def _excluding(self, chain: LinearChain, item: int, excluded: Sequence[Span]) -> LinearChain:
        """Return the distribution of one sentence of a batch without some spans, without a batch axis."""
        unary, transition = chain.scores
        length = int(chain.lengths[item])
        steps = transition.expand(len(unary), *transition.shape[1:])[item]
        steps = steps if len(steps) == 1 else steps[: max(length - 1, 0)]
        alone = LinearChain(unary[item, :length], steps[0] if len(steps) == 1 else steps, validate_args=False)
        return without_spans(alone, excluded, self.scheme, self._number)

    def under_conditions(
        self, chain: LinearChain, required: Sequence[Span], forbidden: Sequence[Span]
    ) -> LinearChain:
        """Return the distribution of a batch of one sentence, given that some spans occur and others do not.

        Args:
            chain: The distribution, from `distribution`.
            required: The spans ``(start, end, label)`` that occur; `end` is the index after the last word.
            forbidden: The spans that do not occur. If there are any, all tag sequences follow the scheme, even
                with the softmax, since others could be read as these spans. The result then has additional tags,
                copies of those of the layer, which `spans_of` translates back.
        """
        need, never = (torch.zeros(chain.scores[0].shape, dtype=torch.bool) for _ in range(2))
        for start, end, label in required:
            need[0, torch.arange(start, end), self._indices(label, end - start)] = True
            if self._may_go_on and end < never.shape[1]:
                never[0, end, self._indices(label, 2)[-1]] = True
        conditioned = chain.condition(need.to(chain.scores[0].device), never.to(chain.scores[0].device))
        if not forbidden:
            return conditioned
        if self.decoder == "softmax":
            conditioned = self._within_scheme(conditioned)
        unary, transition = self._excluding(conditioned, 0, forbidden).scores
        return LinearChain(unary.unsqueeze(0), transition.unsqueeze(0), validate_args=False)

    def _within_scheme(self, chain: LinearChain) -> LinearChain:
        """Return the distribution over the tag sequences of a chain that follow the scheme."""
        unary, transition = chain.scores
        rules = CRF(len(self.tags), tag_constraints(self.tags, self.scheme.name)).to(unary.device)
        starts, follows = rules.scores(unary, chain.lengths)
        return LinearChain(starts, transition + follows, chain.lengths, validate_args=False)

    def spans_of(self, event: Tensor, forbidden: Sequence[Span] = ()) -> list[tuple[int, int, str]]:
        """Return the spans ``(start, end, label)`` of an event ``(n,)``, a tag for each word.

        If the event is from `under_conditions`, ``forbidden`` are the spans that were forbidden there.
        """
        originals = [*range(len(self.tags)), *copies(forbidden, self.scheme, self._number)]
        tags = [self.tags[originals[tag]] for tag in event.tolist()]
        return [(first, last + 1, label) for label, first, last in spans(tags)]

    @property
    def _may_go_on(self) -> bool:
        """True if the next word may extend a span, since its last tag does not mark the end."""
        return self.scheme.last == self.scheme.inside

    def best_spans(
        self, words: Tensor, lengths: Tensor, probabilities: bool = False
    ) -> Iterator[list[PredictedSpan]]:
        chain = self.distribution(words, lengths)
        for item, (length, tags) in enumerate(zip(lengths.tolist(), chain.mode.tolist(), strict=True)):
            named = self.spans_of(torch.tensor(tags[:length]))
            known = self._probabilities(chain, item, tags, named) if probabilities else [None] * len(named)
            yield [PredictedSpan(*span, probability) for span, probability in zip(named, known, strict=True)]

    def _probabilities(
        self, chain: LinearChain, item: int, predicted: Sequence[int], named: Sequence[tuple[int, int, str]]
    ) -> list[float]:
        """Return the probability of each span: that its words have its tags, and the next word does not extend it.

        A word can only extend a span in schemes whose last tag does not mark the end, such as BIO. With the
        softmax, other tags, which break the scheme, may also be read as the same span; these do not count.
        """
        unary, transition = chain.scores
        alone = LinearChain(unary[item], transition[0, 0], chain.lengths[item], validate_args=False)
        alone = alone.expand(torch.Size([len(named)]))
        tags = torch.full((len(named), unary.shape[1]), -1, device=unary.device)
        longer = tags.clone()
        for row, (start, end, label) in enumerate(named):
            tags[row, start:end] = torch.tensor(predicted[start:end])
            longer[row] = tags[row]
            longer[row, end : end + 1] = self._indices(label, end - start + 1)[-1]
        ends = torch.tensor([end for _, end, _ in named], device=unary.device)
        goes_on = (ends < chain.lengths[item]) & self._may_go_on
        shorter_or_longer = alone.partial_log_prob(tags, tags >= 0).exp()
        only_longer = alone.partial_log_prob(longer, longer >= 0).exp()
        probabilities = shorter_or_longer - torch.where(goes_on, only_longer, 0.0)
        result: list[float] = not_nan(probabilities).tolist()
        return result

    def _tags_of(self, gold: GoldSpans, shape: torch.Size) -> Tensor:
        """Return the tags of the outermost gold spans, ``(batch, n)``; spans inside others are ignored.

        In partially annotated sentences, the tags of other words are -1, for unknown.
        """
        tags = torch.zeros(shape, dtype=torch.long, device=gold.starts.device)
        if gold.partial is not None:
            tags[gold.partial] = -1
        rows = zip(
            *(part.tolist() for part in (gold.items, gold.starts, gold.ends, gold.labels)), strict=True
        )
        for item, start, end, label in sorted(rows, key=lambda row: row[2] - row[1]):
            tags[item, start:end] = self._indices(self.labels.symbols[label], end - start)
        return tags

    def _longer(self, gold: GoldSpans, shape: torch.Size) -> Tensor:
        """Return a mask of the tags that would extend a gold span to the next word, in the shape of the scores."""
        mask = torch.zeros(shape, dtype=torch.bool, device=gold.starts.device)
        if not self._may_go_on:
            return mask
        rows = zip(*(part.tolist() for part in (gold.items, gold.ends, gold.labels)), strict=True)
        for item, end, label in rows:
            if end < shape[1]:
                mask[item, end, self._indices(self.labels.symbols[label], 2)[-1]] = True
        return mask

    def _indices(self, label: str, length: int) -> Tensor:
        """Return the tag indices of the words of a span, ``(length,)``, on the CPU."""
        return torch.tensor([self._number[tag] for tag in self.scheme.span(label, length)])
