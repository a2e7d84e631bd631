"""Exact match of tags and of logical forms (COGS), overall and by generalisation case."""

from __future__ import annotations

from collections import Counter

from strukt.data.logical_forms import Tags
from strukt.data.logical_forms.cogs import Sentence
from strukt.metrics.accuracy import Accuracy
from strukt.metrics.counts import percent


class LogicalForms:
    r"""Exact match for COGS: counts correct logical forms, correct tags, and sentences with all tags correct.

    If tags cannot express the logical form of a sentence, its tags count as wrong for exact match, and are left
    out of the accuracy of tags.

    Source: Ontañón et al. (2021), "Making Transformers Solve Compositional Tasks", for sentences; Kim and Linzen
    (2020), "COGS: A Compositional Generalization Challenge Based on Semantic Interpretation", for logical forms.

    Examples:
        >>> import io
        >>> from strukt.data.logical_forms import cogs
        >>> [gold] = cogs.read(io.BytesIO(b"Emma ate .\teat . agent ( x _ 1 , Emma )\tin_distribution\n"))
        >>> score = LogicalForms()
        >>> score.update(gold, gold)
        >>> score.update(gold, gold.annotated(role=["theme", "_", "_"]))
        >>> score.result()["sentences"], score.result()["role"] == 100 * 5 / 6
        (50.0, True)
        >>> score.details()
        {'case': {'in_distribution': {'sentences': 50.0, 'forms': 50.0, 'gold': 2}}}
    """

    def __init__(self) -> None:
        # Numbers of sentences by generalisation case: all, those with right tags, those with the right form.
        self.gold: Counter[str] = Counter()
        self.tagged: Counter[str] = Counter()
        self.exact: Counter[str] = Counter()
        self.tags = {name: Accuracy() for name in Tags._fields}

    def update(self, gold: Sentence, predicted: Sentence) -> None:
        """Add one sentence.

        Args:
            gold: The sentence with the right logical form, and tags if they can express it.
            predicted: The same sentence with the predicted logical form and tags.

        Raises:
            DataError: If the gold sentence has tags, and the predicted one has none.
            ValueError: If the sentences have tags, and differ in length.
        """
        self.gold[gold.case] += 1
        self.exact[gold.case] += gold.logical_form == predicted.logical_form
        if gold.tags is not None:
            self.tagged[gold.case] += gold.tags == predicted.tags
            for name, accuracy in self.tags.items():
                accuracy.update(gold.column(name), predicted.column(name))

    def result(self) -> dict[str, float]:
        """Return exact match of tags (`sentences`) and of logical forms (`forms`), and accuracy by column of tags.

        All scores are in per cent; a score with a denominator of 0 is 0.
        """
        tags = {name: accuracy.result()["accuracy"] for name, accuracy in self.tags.items()}
        whole, tagged, exact = self.gold.total(), self.tagged.total(), self.exact.total()
        return {"sentences": percent(tagged, whole), "forms": percent(exact, whole)} | tags

    def details(self) -> dict[str, dict[str, dict[str, float]]]:
        """Return, under "case", the scores of each generalisation case, in alphabetical order of the cases.

        They are `sentences` and `forms`, as in `result`, and `gold`, the number of sentences. Sentences without a
        case are left out.
        """
        rows = {
            case: {
                "sentences": percent(self.tagged[case], count),
                "forms": percent(self.exact[case], count),
                "gold": count,
            }
            for case, count in sorted(self.gold.items())
            if case
        }
        return {"case": rows}
