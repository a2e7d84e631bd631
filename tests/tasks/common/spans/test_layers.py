"""What stands on top of the encoder of spans, against enumeration of all trees."""

import itertools
import math
from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import tiny_corpora
from tests.tasks.common.spans.all_trees import labelled, score, shapes

from strukt.data.constituents.binarisation import EMPTY
from strukt.data.tag_schemes.spans import spans as tagged_spans
from strukt.data.vocabulary import Vocabulary
from strukt.data.vocabulary.codes import CodeVocabulary
from strukt.distributions import LinearChain, SpanTree
from strukt.losses import contrastive_hashing
from strukt.structures.bit_span_tree.codes import to_bits
from strukt.tasks.common.code_counts import MOST_SHOWN
from strukt.tasks.common.spans.label_spans import CRITERIA, LabelSpans, agreeing
from strukt.tasks.common.spans.layer import GoldSpans, spans_of
from strukt.tasks.common.spans.likelihood_codes import LikelihoodCodes, _distant_words, _sample
from strukt.tasks.common.spans.prediction import PredictedSpan
from strukt.tasks.common.spans.published_codes import PublishedCodes
from strukt.tasks.ner.tag_spans import TagSpans

SIZE, LABELS = 8, Vocabulary.labels([EMPTY, "A", "B"])
LENGTHS = torch.tensor([4, 1, 3])
BITS = 2


def layer(kind, **options):
    torch.manual_seed(1)
    if kind is TagSpans:
        built = TagSpans(SIZE, LABELS, **options)
    else:
        criterion = {LikelihoodCodes: "bits", PublishedCodes: "bits-published"}.get(kind, "likelihood")
        config = tiny_corpora.ner_config(criterion=criterion, **{"bits": BITS, **options})
        built = kind(config, SIZE, LABELS)
    for parameter in built.parameters():
        if parameter.requires_grad and parameter.dim() > 1:
            torch.nn.init.normal_(parameter)
    return built.eval().requires_grad_(False)


def words(seed=0):
    generator = torch.Generator().manual_seed(seed)
    inside = torch.arange(4).unsqueeze(-1) < LENGTHS[:, None, None]
    return torch.randn(3, 4, SIZE, generator=generator) * inside


def gold(*sentences):
    """Known spans (start, end, label) of each sentence."""
    rows = [(item, *span) for item, spans in enumerate(sentences) for span in spans]
    return GoldSpans(*torch.tensor(rows, dtype=torch.long).reshape(-1, 4).unbind(-1))


@st.composite
def known(draw):
    """Some spans of a random labelled tree over four words, and scores."""
    spans = draw(st.sampled_from(shapes(0, 4)))
    kept = draw(st.lists(st.sampled_from(spans), unique=True))
    seed = draw(st.integers(0, 99))
    scores = torch.randn(1, 5, 5, 3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return [(i, j, draw(st.integers(0, 2))) for i, j in kept], 2 * scores


def agrees(tree, spans):
    """Whether a tree has the known spans, and all its others are empty, by definition."""
    wanted = {(i, j): label for i, j, label in spans}
    return wanted.keys() <= tree.keys() and all(
        label == wanted.get(span, LABELS.index(EMPTY)) for span, label in tree.items()
    )


def test_known_spans_come_from_padded_targets():
    targets = {
        "starts": torch.tensor([[0, 1, -1], [-1, -1, -1], [2, -1, -1]]),
        "ends": torch.tensor([[4, 2, -1], [-1, -1, -1], [3, -1, -1]]),
        "labels": torch.tensor([[0, 2, -1], [-1, -1, -1], [1, -1, -1]]),
    }
    found = GoldSpans.of(targets)
    assert found.items.tolist() == [0, 0, 2]
    assert (found.starts.tolist(), found.ends.tolist()) == ([0, 1, 2], [4, 2, 3])
    assert found.labels.tolist() == [0, 2, 1]
    nothing = GoldSpans.of({name: values[:, :0] for name, values in targets.items()})
    assert len(nothing.items) == len(nothing.labels) == 0


def test_used_and_at_look_at_the_same_places():
    spans = gold([(0, 4, 1), (1, 3, 2)], [], [(0, 2, 1)])
    used = spans.used(3, 5)
    assert used.nonzero().tolist() == [[0, 0, 4], [0, 1, 3], [2, 0, 2]]
    values = torch.arange(75).reshape(3, 5, 5)
    assert spans.at(values).tolist() == [4, 8, 52]
    assert sorted(spans.at(values).tolist()) == values[used].tolist()


@settings(max_examples=30)
@given(known())
def test_trees_are_those_that_hold_the_known_spans(case):
    spans, _ = case
    trees = gold(spans).trees(torch.zeros(1, 5, 5, dtype=torch.float64), torch.tensor([4]))
    expected = [shape for shape in shapes(0, 4) if {(i, j) for i, j, _ in spans} <= {*shape}]
    assert trees.log_partition.item() == pytest.approx(math.log(len(expected)))
    drawn = [tuple((i, j) for i, j, _ in spans_of(trees.sample()[0])) for _ in range(5)]
    assert {*drawn} <= {*expected}


def test_among_adds_empty_spans():
    spans, trees = gold([(0, 4, 2)], [], [(1, 3, 1)]), torch.full((3, 5, 5), -1)
    for item, chosen in enumerate([shapes(0, 4)[0], shapes(0, 1)[0], shapes(0, 3)[0]]):
        for i, j in chosen:
            trees[item, i, j] = 0
    empty = LABELS.index(EMPTY)
    every = spans.among(trees, empty)
    columns = [part.tolist() for part in (every.items, every.starts, every.ends, every.labels)]
    rows = {row[:3]: row[3] for row in zip(*columns, strict=True)}
    assert len(rows) == len(every.items) == 7 + 1 + 5
    assert rows.pop((0, 0, 4)) == 2
    assert rows.pop((2, 1, 3)) == 1
    assert set(rows.values()) == {empty}


@settings(max_examples=15)
@given(known())
def test_the_likelihood_is_that_of_all_trees_that_agree(case):
    spans, scores = case
    trees = SpanTree(scores, torch.tensor([4]), labelled=True)
    allowed = agreeing(gold(spans), trees.scores[0], LABELS.index(EMPTY))
    everything = labelled(4, 3)
    weights = torch.tensor([score(tree, scores[0].tolist()) for tree in everything], dtype=torch.float64)
    right = torch.tensor([agrees(tree, spans) for tree in everything])
    expected = weights.logsumexp(0) - weights[right].logsumexp(0)
    assert CRITERIA["likelihood"](trees, allowed).item() == pytest.approx(expected.item(), abs=1e-9)


@settings(max_examples=12)
@given(known(), st.sampled_from([0.0, 0.8, 4.0]))
def test_the_margin_is_that_of_the_best_tree_with_hamming_distance(case, lead):
    spans, scores = case
    empty = LABELS.index(EMPTY)
    allowed = agreeing(gold(spans), scores, empty)
    scores = scores + lead * allowed  # so that examples with and without a loss are among them
    trees, everything = SpanTree(scores, torch.tensor([4]), labelled=True), labelled(4, 3)
    wanted = {(i, j): label for i, j, label in spans}

    def faults(tree):
        return sum(
            label != wanted.get((i, j), empty) or any(i < k < j < m or k < i < m < j for k, m in wanted)
            for (i, j), label in tree.items()
        )

    values = scores[0].tolist()
    best = max(score(tree, values) for tree in everything if agrees(tree, spans))
    rival = max(score(tree, values) + faults(tree) for tree in everything if not agrees(tree, spans))
    loss = CRITERIA["margin"](trees, allowed).item()
    assert loss == pytest.approx(max(0.0, rival - best), abs=1e-9)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_loss_is_the_mean_per_word(criterion):
    spans = [[(0, 4, 1), (1, 2, 2)], [], [(1, 3, 2)]]
    model, vectors = layer(LabelSpans), words()
    model.criterion = CRITERIA[criterion]
    together = model.loss([vectors], gold(*spans), LENGTHS).item()
    apart = [
        model.loss([vectors[[item], :length]], gold(spans[item]), LENGTHS[[item]]).item() * length
        for item, length in enumerate(LENGTHS.tolist())
    ]
    assert together == pytest.approx(sum(apart) / 8, rel=1e-4)


@pytest.mark.parametrize("kind", [LabelSpans, LikelihoodCodes, PublishedCodes])
def test_found_spans_are_a_tree_in_pre_order(kind):
    model = layer(kind)
    for number in range(5):
        for spans, length in zip(model.best_spans(words(number), LENGTHS), LENGTHS.tolist(), strict=True):
            assert tuple((span.start, span.end) for span in spans) in shapes(0, length)
            assert all(span.probability is None for span in spans)
            assert all((span.code is None) == (kind is LabelSpans) for span in spans)


def marginals(everything, scores):
    """The probability of each span with each label, by enumeration."""
    weights = torch.tensor([score(tree, scores) for tree in everything], dtype=torch.float64).softmax(0)
    found = {}
    for tree, weight in zip(everything, weights.tolist(), strict=True):
        for span, label in tree.items():
            key = (*span, label)
            found[key] = found.get(key, 0.0) + weight
    return found


def test_probabilities_of_labels_are_marginals():
    model = layer(LabelSpans)
    scores = model.distribution(words(), LENGTHS).scores[0].tolist()
    for item, spans in enumerate(model.best_spans(words(), LENGTHS, probabilities=True)):
        expected = marginals(labelled(LENGTHS[item].item(), 3), scores[item])
        for span in spans:
            key = (span.start, span.end, LABELS.index(span.label))
            assert span.probability == pytest.approx(expected[key], rel=1e-3, abs=1e-6)


def test_probabilities_of_codes_are_marginals():
    model = layer(LikelihoodCodes)
    lengths = LENGTHS.clamp(max=3)
    for weight in (model.hash.query, model.hash.key):
        weight *= 0.3  # so that no span is certain
    bits = model.distribution(words(), lengths).scores[0]
    codes = torch.arange(2**BITS).unsqueeze(-1) >> torch.arange(BITS) & 1
    scores = (bits.unsqueeze(-2) * codes).sum(-1).tolist()
    for item, spans in enumerate(model.best_spans(words(), lengths, probabilities=True)):
        expected = marginals(labelled(lengths[item].item(), 2**BITS), scores[item])
        for span in spans:
            key = (span.start, span.end, span.code)
            assert span.probability == pytest.approx(expected[key], rel=1e-3, abs=1e-6)
            sure = [sum(expected.get((*key[:2], code), 0.0) for code in range(2**BITS)) for key in expected]
            assert lengths[item] < 3 or min(sure) < 0.9


def test_tags_stand_for_the_outermost_spans():
    model, (vectors, lengths) = layer(TagSpans), (words(), LENGTHS)
    spans = gold([(1, 2, LABELS.index("B")), (0, 3, LABELS.index("A"))], [], [(2, 3, LABELS.index("B"))])
    number = {tag: index for index, tag in enumerate(model.tags)}
    tags = torch.zeros(3, 4, dtype=torch.long)
    tags[0, :3] = torch.tensor([number["B-A"], number["I-A"], number["I-A"]])
    tags[2, 2] = number["B-B"]
    expected = -model.distribution(vectors, lengths).log_prob(tags).sum() / 8
    assert model.loss([vectors], spans, lengths).item() == pytest.approx(expected.item(), rel=1e-5)


def test_each_tag_for_itself():
    model, (vectors, lengths) = layer(TagSpans, scheme="bioes", decoder="softmax"), (words(), LENGTHS)
    crf = TagSpans(SIZE, LABELS, "bioes", "softmax").crf
    assert not any(weight.requires_grad for weight in crf.parameters())
    probabilities = model.score(vectors).softmax(-1)
    best = zip(probabilities.argmax(-1).tolist(), LENGTHS.tolist(), strict=True)
    tags = [[model.tags[tag] for tag in row[:length]] for row, length in best]
    found = list(model.best_spans(vectors, lengths, probabilities=True))
    assert [[(span.label, span.start, span.end - 1) for span in spans] for spans in found] == list(
        map(tagged_spans, tags)
    )
    assert sum(map(len, found)) > 0
    for row, spans in enumerate(found):
        for span in spans:
            own = probabilities[row, span.start : span.end].amax(-1)
            assert span.probability == pytest.approx(own.prod().item(), rel=1e-4)


@pytest.mark.parametrize("scheme", ["bio", "bioes"])
def test_found_tags_are_spans_in_order_with_their_probabilities(scheme):
    model = layer(TagSpans, scheme=scheme)
    chain = model.distribution(words(3), LENGTHS)
    count = 0
    for item, spans in enumerate(model.best_spans(words(3), LENGTHS, probabilities=True)):
        expected = _probabilities_of_tagged_spans(model, chain, item)
        ends = 0
        for span in spans:
            assert ends <= span.start < span.end <= LENGTHS[item]
            assert span.probability == pytest.approx(expected[span.start, span.end, span.label], rel=1e-4)
            ends, count = span.end, count + 1
    assert count, "the example has spans"


def _probabilities_of_tagged_spans(model, chain, item):
    """By enumeration of all tag sequences of one sentence."""
    expected, length = Counter(), int(LENGTHS[item])
    unary, transition = chain.scores
    every = list(itertools.product(range(len(model.tags)), repeat=length))
    alone = LinearChain(unary[item, :length], transition[0, 0])
    probabilities = alone.log_prob(torch.tensor(every)).exp().tolist()
    for tags, probability in zip(every, probabilities, strict=True):
        for label, first, last in tagged_spans([model.tags[tag] for tag in tags] if probability else []):
            expected[first, last + 1, label] += probability
    return expected


def test_the_label_of_a_code_is_that_of_the_nearest_one():
    model = layer(LikelihoodCodes, bits=4)
    assert model.label(5) == EMPTY, "before anything was counted"
    assert model.codes == ()
    model.vocabulary = CodeVocabulary({0b0000: {"A": 2}, 0b1111: {"B": 3, "A": 1}})
    assert model.codes == (0b0000, 0b1111)
    assert [model.label(code) for code in (0b0000, 0b1111, 0b0100, 0b1101)] == ["A", "B", "A", "B"]
    assert model.label(0b0011) == "B", "as near to both: the one counted more often"


def test_shares_count_codes_that_were_never_seen():
    model = layer(LikelihoodCodes)
    model.vocabulary = CodeVocabulary({1: {"A": 1}})
    spans = [
        PredictedSpan(0, 2, "A", code=1),
        PredictedSpan(0, 1, "A", code=2),
        PredictedSpan(1, 2, "A", code=3),
    ]
    assert model.shares(spans) == {"unseen_codes": (200, 3)}
    assert model.shares([]) == {"unseen_codes": (0, 0)}
    assert layer(LabelSpans).shares(spans) == {}


def test_distances_are_shown_of_the_most_frequent_labels():
    model = layer(LikelihoodCodes)
    model.vocabulary = CodeVocabulary({number % 4: {EMPTY: 90, f"L{number}": number} for number in (1, 2, 3)})
    shown = model.distances()
    assert shown.rows == shown.columns == ["∅", "L3", "L2", "L1"]
    assert shown.values[1][1:] == [0, 1, 1]
    many = {number: {f"L{number:02}": 100 - number} for number in range(MOST_SHOWN + 5)}
    model.vocabulary = CodeVocabulary(many)
    assert model.distances().rows == [f"L{number:02}" for number in range(MOST_SHOWN)]


def test_weights_have_the_names_of_models_saved_earlier():
    names = {"_extra_state", "hash.query", "hash.key", "perceptron.0.weight", "perceptron.0.bias"}
    assert layer(LikelihoodCodes, code_words="learned").state_dict().keys() == names
    assert layer(LikelihoodCodes).state_dict().keys() == names | {"code_words"}
    assert layer(PublishedCodes).state_dict().keys() == {"_extra_state", "hash.query", "hash.key"}


@pytest.mark.parametrize("counts", [{}, {0: {EMPTY: 7}, 3: {"A": 2, "B": 1}, 2: {"B": 2**40}}])
def test_counts_are_part_of_the_state(counts):
    first, second = layer(LikelihoodCodes), layer(LikelihoodCodes)
    first.vocabulary = CodeVocabulary(counts)
    second.vocabulary = CodeVocabulary({1: {"A": 1}})
    second.load_state_dict(first.state_dict())
    assert second.vocabulary == first.vocabulary


def test_codes_are_counted_for_the_best_tree_that_holds_what_is_known():
    model, vectors = layer(LikelihoodCodes), words()
    spans = gold([(0, 3, LABELS.index("A"))], [], [(0, 3, LABELS.index("B"))])
    model.calibrate([(vectors, spans, LENGTHS)] * 2)
    totals = dict.fromkeys(LABELS.symbols, 0)
    for counts in model.vocabulary.counts.values():
        for label, count in counts.items():
            totals[label] += count
    assert totals == {"A": 2, "B": 2, EMPTY: 2 * (6 + 1 + 4)}
    bits = model.distribution(vectors, LENGTHS).scores[0][0, 0, 3]
    code = sum(1 << place for place, value in enumerate(bits.tolist()) if value > 0)
    assert "A" in model.vocabulary.counts[code]


@pytest.mark.parametrize("code_words", ["learned", "sampled", "fixed"])
def test_the_likelihood_of_the_tree_is_added_with_its_weight(code_words):
    model, vectors, spans = (
        layer(LikelihoodCodes, code_words=code_words),
        words(),
        gold([(1, 3, 1)], [], [(0, 2, 2)]),
    )

    def loss(weight):
        torch.manual_seed(0)
        model.config.tree_weight = weight
        return model.loss([vectors, vectors], spans, LENGTHS).item()

    scores = model.distribution(vectors, LENGTHS).scores[0]
    total = 0.0
    for item, length in enumerate(LENGTHS.tolist()):
        sums = (1 + scores[item].double().exp()).prod(-1).log()
        used = {(i, j): label for i, j, label in [[(1, 3, 1)], [], [(0, 2, 2)]][item]}
        agreeing = sums
        if code_words == "fixed":
            agreeing = scores[item].double() @ model.code_words[0].double()
            for place, label in used.items():
                agreeing[place] = scores[item][place].double() @ model.code_words[label].double()
        weights = [sum(sums[place] for place in shape) for shape in shapes(0, length)]
        right = [
            sum(agreeing[place] for place in shape) for shape in shapes(0, length) if used.keys() <= {*shape}
        ]
        total += (torch.stack(weights).logsumexp(0) - torch.stack(right).logsumexp(0)).item()
    assert loss(3.0) - loss(1.0) == pytest.approx(2 * 2 * total / 8, rel=1e-3, abs=1e-5)


@pytest.mark.parametrize(("bits", "different"), [(1, 2), (2, 3), (5, 3), (62, 3)])
def test_fixed_words_of_labels_differ_as_far_as_there_are_as_many(bits, different):
    model = layer(LikelihoodCodes, code_words="fixed", bits=bits)
    assert model.code_words.shape == (3, bits)
    assert {*model.code_words.unique().tolist()} <= {0, 1}
    assert len(model.code_words.unique(dim=0)) == different
    again = layer(LikelihoodCodes, code_words="fixed", bits=bits)
    again.code_words.zero_()
    again.load_state_dict(model.state_dict())
    assert torch.equal(again.code_words, model.code_words)


@pytest.mark.parametrize(
    ("labels", "bits", "distance"), [(2, 8, 8), (16, 8, 4), (11, 12, 6), (7, 6, 2), (40, 20, 5)]
)
def test_words_of_labels_are_far_apart(labels, bits, distance):
    """As far as in the best codes: 16 words of 8 bits that differ in 4 are the extended Hamming code."""
    words = _distant_words(labels, bits)
    apart = (words[:, None] != words).sum(-1)[~torch.eye(labels, dtype=torch.bool)]
    assert apart.min() >= distance


@pytest.mark.parametrize(
    "options",
    [{"code_words": "learned"}, {"code_words": "sampled"}, {"code_words": "fixed", "tree_weight": 0}],
)
def test_without_a_likelihood_that_knows_them_there_are_no_words(options):
    assert layer(LikelihoodCodes, **options).code_words is None


@pytest.mark.parametrize("weight", [0.0, 1e-13])
def test_codes_are_compared_jointly_with_the_tree_or_given_it(weight):
    """With the tree known, the contrastive loss of both views, in which all scores are large: codes are sure."""
    model, vectors = layer(LikelihoodCodes, tree_weight=weight, temperature=0.5), words()[:1]
    shape, lengths = shapes(0, 4)[0], LENGTHS[:1]
    spans = gold([(i, j, number % 2) for number, (i, j) in enumerate(shape)])
    model.hash.query *= 1e3
    trees = model.distribution(vectors, lengths)
    scores, joint = spans.at(trees.scores[0]), spans.at(trees.bit_marginals)
    bits = torch.stack([-scores, scores], -1).sigmoid() if weight else joint
    expected = contrastive_hashing(bits, bits, spans.labels, temperature=0.5)
    found = model.loss([vectors, vectors], spans, lengths)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    assert (joint.sum(-1) < 0.5).any(), "spans that the model thinks improbable, which tells the two apart"


def test_the_published_loss_draws_what_is_not_known_of_a_tree():
    model, first, second = layer(PublishedCodes, variant="sup"), words(1)[:1], words(2)[:1]
    model.hash.query *= 0.1  # so that no tree is certain
    known, lengths = (1, 3, 2), LENGTHS[:1]
    views = [model.distribution(view, lengths).bit_marginals for view in (first, second)]
    possible = []
    for shape in shapes(0, 4):
        spans = gold([(i, j, 2 if (i, j) == known[:2] else 0) for i, j in shape])
        if known[:2] in shape:
            marginals = [spans.at(view) for view in views]
            possible.append(contrastive_hashing(*marginals, spans.labels, "sup", temperature=1.0).item())
    drawn = torch.tensor([model.loss([first, second], gold([known]), lengths) for _ in range(30)])
    nearest = (drawn.unsqueeze(-1) - torch.tensor(possible)).abs().min(-1)
    assert nearest.values.max() < 1e-5
    assert len(possible) == 2
    assert len(nearest.indices.unique()) == 2


@pytest.mark.parametrize(
    ("scale", "code_words", "same"), [(1e3, "sampled", True), (0.1, "sampled", False), (0.1, "learned", True)]
)
def test_codes_are_sampled_when_the_option_says_so(scale, code_words, same):
    """Of a known tree, so that nothing else is sampled: sure bits are always the same, and the best ones."""
    first, second, shape = words()[:1], words(1)[:1], shapes(0, 4)[0]
    spans = gold([(i, j, number % 2) for number, (i, j) in enumerate(shape)])

    def losses(code_words):
        model = layer(LikelihoodCodes, bits=5, code_words=code_words)
        model.hash.query *= scale
        return torch.tensor([model.loss([first, second], spans, LENGTHS[:1]) for _ in range(8)])

    found = losses(code_words)
    assert (found.std() < 1e-4) == same
    if same:
        torch.testing.assert_close(found, losses("learned"), rtol=1e-4, atol=1e-4)


def test_samples_have_the_probabilities_of_their_bits():
    """As those of a span, whatever the probability that it is one."""
    joint = 0.1 * torch.tensor([[0.2, 0.8], [0.7, 0.3], [0.0, 1.0]]).expand(20_000, 3, 2)
    shares = to_bits(_sample(joint), 3).double().mean(0)
    torch.testing.assert_close(shares, torch.tensor([0.8, 0.3, 1.0]).double(), rtol=0, atol=0.02)
    assert _sample(torch.zeros(2, 3, 2)).tolist() == [0, 0]


@pytest.mark.parametrize("scheme", ["bio", "bioes"])
def test_a_softmax_without_some_spans_allows_no_tags_that_read_as_them(scheme):
    tagger = layer(TagSpans, scheme=scheme, decoder="softmax")
    chain = tagger.distribution(words()[:1], LENGTHS[:1])
    forbidden = [(0, 1, "A"), (2, 4, "B")]
    conditioned = tagger.under_conditions(chain, [(1, 2, "B")], forbidden)
    ranked = conditioned.topk(500)
    possible = ranked.events[0][ranked.scores[0] > -torch.inf]
    assert len(possible) > 1
    for event in possible:
        found = tagger.spans_of(event, forbidden)
        assert (1, 2, "B") in found
        assert not {*found} & {*forbidden}
