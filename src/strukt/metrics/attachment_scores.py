"""Attachment scores of dependency trees (UAS, LAS, CLAS), by the rules of the CoNLL 2018 shared task."""

from __future__ import annotations

from collections.abc import Sequence

from strukt.metrics.counts import percent, require_same_length

Arc = tuple[int, str]
"""The head of a word, 0 for the root, and its relation."""

# fmt: off
CONTENT_RELATIONS = frozenset((
    "nsubj", "obj", "iobj", "csubj", "ccomp", "xcomp", "obl", "vocative", "expl", "dislocated",
    "advcl", "advmod", "discourse", "nmod", "appos", "nummod", "acl", "amod", "conj", "fixed",
    "flat", "compound", "list", "parataxis", "orphan", "goeswith", "reparandum", "root", "dep",
))
# fmt: on
"""Relations of content words; CLAS counts only these."""


class AttachmentScore:
    """Attachment scores of dependency trees: UAS, LAS and CLAS.

    UAS (unlabelled attachment score) is the share of words with the right head; LAS (labelled) also requires the
    right relation. CLAS (content-word labelled attachment score) is the F1 of content words with the right head
    and relation. Gold and predicted words must be the same. All of them count for UAS and LAS, including
    punctuation. Subtypes of relations, the part after a `:`, are ignored.

    Source: Zeman et al. (2018), CoNLL 2018 Shared Task, section 5; `conll18_ud_eval.py`.

    Examples:
        >>> score = AttachmentScore()
        >>> score.update(gold=[(2, "nsubj"), (0, "root")], predicted=[(2, "nsubj:pass"), (1, "root")])
        >>> score.result()
        {'UAS': 50.0, 'LAS': 50.0, 'CLAS': 50.0}
    """

    def __init__(self) -> None:
        self.words = 0
        self.right_heads = 0
        self.right_arcs = 0
        self.gold_content = 0
        self.predicted_content = 0
        self.right_content = 0

    def update(self, gold: Sequence[Arc], predicted: Sequence[Arc]) -> None:
        """Add one sentence, for example `update(gold_sentence.arcs, predicted_sentence.arcs)`.

        Args:
            gold: The right arc of each word: the number of its head, counted from 1 and 0 for the root, and the
                relation.
            predicted: The predicted arc of each word, in the same form.

        Raises:
            ValueError: If the sentences differ in length, or an entry is not a pair of a head and a relation.
        """
        require_same_length(gold, predicted, "arcs")
        for name, arcs in (("gold", gold), ("predicted", predicted)):
            for arc in arcs:
                is_pair = isinstance(arc, tuple | list) and len(arc) == 2
                if not (is_pair and hasattr(arc[0], "__index__") and isinstance(arc[1], str)):
                    raise ValueError(f"{name} holds {arc!r}; expected a head and a relation, such as (2, 'nsubj')")
        for (gold_head, gold_deprel), (head, deprel) in zip(gold, predicted, strict=True):
            gold_relation, relation = gold_deprel.split(":")[0], deprel.split(":")[0]
            is_right = gold_head == head and gold_relation == relation
            self.right_heads += gold_head == head
            self.right_arcs += is_right
            self.gold_content += gold_relation in CONTENT_RELATIONS
            self.predicted_content += relation in CONTENT_RELATIONS
            self.right_content += is_right and relation in CONTENT_RELATIONS
        self.words += len(gold)

    def result(self) -> dict[str, float]:
        """Return UAS, LAS and CLAS over all words so far, in per cent; 0 for a denominator of 0."""
        content = (self.gold_content + self.predicted_content) / 2
        return {
            "UAS": percent(self.right_heads, self.words),
            "LAS": percent(self.right_arcs, self.words),
            "CLAS": percent(self.right_content, content),
        }

    def details(self) -> dict[str, dict[str, dict[str, float]]]:
        """Return an empty dictionary: this metric has no tables."""
        return {}
