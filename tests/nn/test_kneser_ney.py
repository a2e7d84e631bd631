"""N-gram models: their numbers are those of the formulas, worked out with dictionaries."""

from collections import Counter, defaultdict

import pytest
import torch

from strukt.nn import KneserNey

V = 6


def corpus(seed=0, sentences=300):
    generator = torch.Generator().manual_seed(seed)
    weights = torch.rand(V, V, generator=generator) ** 6
    found = []
    for _ in range(sentences):
        words = [int(torch.randint(V, (), generator=generator))]
        while len(words) < 9 and torch.rand((), generator=generator) > 0.15:
            words.append(int(torch.multinomial(weights[words[-1]], 1, generator=generator)))
        found.append(words)
    return found


class Dictionaries:
    """Interpolated, modified Kneser-Ney smoothing by the book (Chen and Goodman 1999)."""

    def __init__(self, sentences, order):
        self.order = order
        raw = [Counter() for _ in range(order + 1)]
        for words in sentences:
            padded = ["^"] * (order - 1) + words
            for end in range(order - 1, len(padded)):
                for k in range(1, order + 1):
                    raw[k][tuple(padded[end - k + 1 : end + 1])] += 1
        self.counts = [Counter() for _ in range(order + 1)]
        self.counts[order] = raw[order]
        for k in range(1, order):
            before = defaultdict(set)
            for longer in raw[k + 1]:
                before[longer[1:]].add(longer[0])
            for gram, count in raw[k].items():
                self.counts[k][gram] = count if gram[0] == "^" else len(before[gram])
        self.discounts = [self.of(list(counts.values())) for counts in self.counts]

    @staticmethod
    def of(values):
        n = [sum(value == i for value in values) for i in range(1, 5)]
        if not all(n):
            return [0, 0.5, 1, 1.5]
        y = n[0] / (n[0] + 2 * n[1])
        return [0, *(max(i - (i + 1) * y * n[i] / n[i - 1], 0) for i in (1, 2, 3))]

    def probability(self, context, word, k=None):
        k = self.order if k is None else k
        if k == 0:
            return 1 / V
        context = context[len(context) - k + 1 :]
        here = {gram[-1]: count for gram, count in self.counts[k].items() if gram[:-1] == context}
        shorter = self.probability(context[1:], word, k - 1)
        total = sum(here.values())
        if not total:
            return shorter
        discount = self.discounts[k]
        left = sum(discount[min(count, 3)] for count in here.values())
        count = here.get(word, 0)
        return (count - discount[min(count, 3)] + left * shorter) / total


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_probabilities_are_those_of_the_formulas(order):
    sentences = corpus()
    model, oracle = KneserNey(V, order), Dictionaries(sentences, order)
    model.count([torch.tensor(words) for words in sentences])
    for words in corpus(seed=1, sentences=20):
        padded = ("^",) * (order - 1) + tuple(words)
        expected = [oracle.probability(padded[at : at + order - 1], word) for at, word in enumerate(words)]
        found = model.log_probs(torch.tensor([words])).exp()[0]
        torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64))


@pytest.mark.parametrize("order", [1, 2, 4])
def test_next_words_are_a_distribution_and_agree(order):
    model = KneserNey(V, order)
    model.count([torch.tensor(words) for words in corpus()])
    x = torch.randint(V, (4, 6), generator=torch.Generator().manual_seed(2))
    for n in range(6):
        probabilities = model.next(x[:, :n])
        torch.testing.assert_close(probabilities.exp().sum(1), torch.ones(4, dtype=torch.float64))
        torch.testing.assert_close(probabilities.gather(1, x[:, n : n + 1])[:, 0], model.log_probs(x)[:, n])


def test_what_stood_before_goes_on():
    model = KneserNey(V, 3)
    model.count([torch.tensor(words) for words in corpus()])
    x = torch.randint(V, (4, 8), generator=torch.Generator().manual_seed(3))
    whole = model.log_probs(x)
    torch.testing.assert_close(model.log_probs(x[:, 5:], before=x[:, 3:5]), whole[:, 5:])
    torch.testing.assert_close(model.next(x[:, 5:7], before=x[:, 3:5]), model.next(x[:, :7]))


def test_a_saved_model_is_the_same():
    model, other = KneserNey(V, 3), KneserNey(V, 3)
    model.count([torch.tensor(words) for words in corpus()])
    other.load_state_dict(model.state_dict())
    x = torch.tensor([[1, 2, 3, 4]])
    assert torch.equal(model.log_probs(x), other.log_probs(x))


def test_wrong_calls_are_refused():
    model = KneserNey(6, 3)
    with pytest.raises(ValueError, match="no sentences were counted; call count"):
        model.log_probs(torch.tensor([[1, 2]]))
    with pytest.raises(ValueError, match="sentences is empty; expected at least one"):
        model.count([])
    with pytest.raises(ValueError, match=r"sentences\[1\] is \[1, 2\]; expected a LongTensor of shape \(n,\)"):
        model.count([torch.tensor([1]), [1, 2]])


def test_unseen_words_keep_a_probability_after_every_context():
    numbers = {1: 5, 2: 5, 3: 40, 4: 2}  # so many bigrams of each count: the estimated discount of 2 is below 0
    pairs = [(2 * pair, count) for pair, count in enumerate(c for c, n in numbers.items() for _ in range(n))]
    model = KneserNey(words=2 * len(pairs), order=2)
    model.count([torch.tensor([first, first + 1]) for first, count in pairs for _ in range(count)])
    following = model.next(torch.tensor([[first] for first, _ in pairs]))
    assert following.isfinite().all()
    assert torch.allclose(following.exp().sum(1), torch.ones(len(pairs), dtype=torch.float64))


def test_contexts_are_checked_as_words_are():
    model = KneserNey(words=3, order=3)
    model.count([torch.tensor([0, 1, 2])])
    for wrong, message in (
        (torch.tensor([[3]]), "x holds 3 at batch item 0, position 0; expected indices from 0 to 2"),
        (torch.tensor([[0.5]]), "x is of type torch.float32"),
        (torch.tensor([0]), r"x has shape \(1,\); expected \(batch, n\)"),
    ):
        with pytest.raises(ValueError, match=message):
            model.next(wrong)
    x = torch.tensor([[0]])
    for wrong, message in (
        (torch.tensor([[0, 4]]), "before holds 4 at batch item 0, position 1; expected indices from 0 to 3"),
        (torch.tensor([[0.0, 1.0]]), "before is of type torch.float32"),
        (torch.tensor([[0]]), r"before has shape \(1, 1\); expected \(1, 2\)"),
    ):
        with pytest.raises(ValueError, match=message):
            model.log_probs(x, wrong)


@pytest.mark.parametrize(("words", "order"), [(3, 2), (3, 4), (4, 3)])
def test_counts_of_another_form_are_refused(words, order):
    model, other = KneserNey(words=3, order=3), KneserNey(words, order)
    model.count([torch.tensor([0, 1, 2])])
    other.count([torch.tensor([0, 1])])
    before = other.next(torch.tensor([[0]]))
    with pytest.raises(ValueError, match="the counts are of order 3 with 3 words; expected order"):
        other.load_state_dict(model.state_dict())
    assert torch.equal(other.next(torch.tensor([[0]])), before)


def test_loading_no_counts_forgets_counts():
    model = KneserNey(words=3, order=3)
    model.count([torch.tensor([0, 1, 2])])
    model.load_state_dict(KneserNey(words=3, order=3).state_dict())
    with pytest.raises(ValueError, match="no sentences were counted"):
        model.next(torch.tensor([[0]]))
