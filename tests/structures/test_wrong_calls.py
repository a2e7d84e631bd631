"""Calls as other libraries have them, or with something else in place of scores: the error says what to write."""

import copy
import pickle
import re
import warnings

import numpy as np
import pytest
import torch

import strukt
from strukt.losses import fenchel_young_loss
from strukt.mappings import sparsemax
from strukt.structures.ctc.decoding import ctc_beam_search
from strukt.testing.subjects import STRUCTURES

MADE_AS_GIVEN = [subject for subject in STRUCTURES if not subject.name.startswith(("CTC", "KDPP"))]
"""Subjects that make their structure of the scores alone; others look at the shape of the scores first."""


def chain(*batch):
    return strukt.LinearChain(torch.zeros(*batch, 3, 2), torch.zeros(2, 2))


def model():
    return strukt.HMM(torch.zeros(2), torch.zeros(2, 2), torch.zeros(2, 4))


# Names of other libraries.


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("partition", "log_partition"),
        ("kl", "torch.distributions.kl_divergence(p, q)"),
        ("viterbi_decode", "mode"),
        ("differentiable_sample", "rsample_relaxed(temperature), or rsample_implicit(step)"),
    ],
)
def test_names_of_other_libraries_are_answered_with_ours(name, ours):
    with pytest.raises(AttributeError) as caught:
        getattr(chain(), name)
    assert str(caught.value) == f"LinearChain has no attribute '{name}'; in strukt, use {ours}"
    assert not hasattr(chain(), name)
    assert getattr(chain(), name, None) is None


@pytest.mark.parametrize(
    ("name", "ours"), [("decode", r"viterbi\(x\)"), ("rsample", r"sample\(sample_shape, n\)")]
)
def test_models_answer_them_too(name, ours):
    with pytest.raises(AttributeError, match=rf"HMM has no attribute '{name}'; in strukt, use .*{ours}"):
        getattr(model(), name)


def test_what_is_answered_is_there():
    """Every name that an answer begins with is a member, and no name that is answered is one."""
    from strukt.structures.peer_names import FactorGraphPeerNames, HMMPeerNames, StructurePeerNames

    for names, members in (
        (StructurePeerNames._ours, dir(chain())),
        (HMMPeerNames._ours, dir(model())),
        (FactorGraphPeerNames._ours, dir(strukt.FactorGraph())),
    ):
        for theirs, ours in names.items():
            word = re.match(r"-?(\w+)", ours).group(1)
            assert word in members or ours.startswith("torch.distributions.kl_divergence")
            assert theirs not in members


def test_other_names_have_the_usual_message():
    with pytest.raises(AttributeError, match=r"'LinearChain' object has no attribute 'nothing_such'"):
        _ = chain().nothing_such


def test_the_error_of_a_property_is_not_hidden():
    class Broken(strukt.LinearChain):
        @property
        def marginals(self):
            return self.scores.no_such_name

    with pytest.raises(AttributeError, match="no_such_name"):
        _ = Broken(torch.zeros(3, 2), torch.zeros(2, 2)).marginals


@pytest.mark.parametrize("make", [lambda: chain(2), model])
def test_they_can_be_copied_and_pickled(make):
    x = torch.tensor([[0, 1, 1], [1, 0, 0]])
    for other in (copy.copy(make()), copy.deepcopy(make()), pickle.loads(pickle.dumps(make()))):
        assert torch.equal(other.log_prob(x), make().log_prob(x))


# Samples.


def test_rsample_says_what_has_a_gradient():
    assert not chain().has_rsample
    with pytest.raises(
        NotImplementedError, match=r"rsample_relaxed\(temperature\).*rsample_implicit.*mode_parts"
    ):
        chain().rsample((2,))
    with pytest.raises(NotImplementedError, match="`marginals`"):
        _ = chain().mean
    for name in ("variance", "stddev"):
        with pytest.raises(NotImplementedError, match=r"`marginals \* \(1 - marginals\)`"):
            getattr(chain(), name)
    for name in ("cdf", "icdf"):
        with pytest.raises(NotImplementedError, match="structures have no order"):
            getattr(chain(), name)(torch.zeros(3, dtype=torch.long))


def test_a_number_of_samples_is_a_shape():
    write = r"sample_shape is 5; expected sizes such as \(5,\): for 5 samples write"
    with pytest.raises(ValueError, match=write + r" sample\(\(5,\)\)"):
        chain().sample(5)
    with pytest.raises(ValueError, match=write + r" sample\(\(5,\)\)"):
        model().sample(5)
    with pytest.raises(ValueError, match=write + r" sample_shape=\(5,\)"):
        model().sample_posterior(torch.tensor([1, 0]), sample_shape=5)
    for draw in (chain().perturb_and_map, chain().rsample_implicit):
        with pytest.raises(ValueError, match=write + r" sample_shape=\(5,\)"):
            draw(sample_shape=5)
    with pytest.raises(ValueError, match=r"sample_shape is '2'; expected sizes such as \(5,\)$"):
        chain().sample("2")
    with pytest.raises(ValueError, match=r"sample_shape is \(-1,\); expected non-negative sizes"):
        chain().sample((-1,))
    with pytest.raises(ValueError, match=r"k is True; expected a positive integer"):
        chain().topk(True)
    with pytest.raises(ValueError, match=r"k is 10+; expected a positive integer"):
        chain().topk(10**30)
    assert chain().sample([2, 3]).shape == (2, 3, 3)


def test_counts_may_be_integers_of_numpy():
    two = np.int64(2)
    assert torch.equal(chain().topk(two).events, chain().topk(2).events)
    assert chain().sample_without_replacement(two).shape == (2, 3)
    assert strukt.KSubset(torch.zeros(3), two).mode.sum() == 2
    assert ctc_beam_search(torch.zeros(4, 3).log_softmax(-1), beam_size=np.int32(4), k=two).scores.shape == (2,)
    assert sparsemax(torch.tensor([1.0, 1.0, 1.0]), max_support=two).count_nonzero() == 2


# Scores and lengths.


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda lengths: strukt.LinearChain(torch.zeros(2, 3, 4), lengths),
            "transition has dtype torch.int64 and shape (2,), as lengths have; expected LinearChain(unary, "
            "transition, lengths) with a floating-point transition (c, c), torch.zeros(c, c) for none",
        ),
        (
            lambda lengths: strukt.SemiMarkov(torch.zeros(2, 3, 2, 4), lengths),
            "transition has dtype torch.int64 and shape (2,), as lengths have; expected SemiMarkov(segments, "
            "transition, lengths) with a floating-point transition (c, c), torch.zeros(c, c) for none",
        ),
        (
            lambda lengths: strukt.BinaryCRF(torch.zeros(2, 3), lengths),
            "pairwise has dtype torch.int64 and shape (2,), as lengths have; expected BinaryCRF(unary, pairwise, "
            "lengths) with a floating-point pairwise (n, n), torch.zeros(n, n) for none",
        ),
    ],
)
def test_lengths_in_place_of_second_scores(call, message):
    with pytest.raises(ValueError, match="as lengths have") as caught:
        call(torch.tensor([3, 2]))
    assert str(caught.value) == message
    with pytest.raises(ValueError, match=r"is \[3, 2\], as lengths have") as caught:
        call([3, 2])
    assert str(caught.value)[-100:] == message[-100:]


@pytest.mark.parametrize("subject", MADE_AS_GIVEN, ids=lambda subject: subject.name)
def test_lists_and_arrays_are_no_scores(subject):
    case = subject.case((2,), lengths=[subject.size])
    for place, name in enumerate(subject.arguments):
        for wrong, kind, remedy in (
            (case.scores[place].tolist(), "list", f"torch.tensor({name})"),
            (case.scores[place].numpy(), "ndarray", f"torch.from_numpy({name})"),
        ):
            scores = [*case.scores[:place], wrong, *case.scores[place + 1 :]]
            with pytest.raises(ValueError, match=rf"^{name} is a {kind}; expected a floating") as caught:
                subject.make(*scores, lengths=case.lengths)
            assert str(caught.value).endswith(remedy)


@pytest.mark.parametrize("size", [1.0, 3e38])
def test_kernels_are_checked_at_any_size(size):
    kernel = torch.eye(3) * size
    torch.testing.assert_close(strukt.KDPP(kernel, 2).marginals, torch.full((3,), 2 / 3))
    with pytest.raises(ValueError, match=rf"kernel has the eigenvalue -{size:.3g}".replace("+", r"\+")):
        strukt.KDPP(-kernel, 2)
    kernel[0, 1] = size
    with pytest.raises(ValueError, match="kernel is not symmetric for batch item 0"):
        strukt.KDPP(kernel, 2)


@pytest.mark.parametrize("tree", [strukt.NonProjectiveTree, strukt.ProjectiveTree])
def test_square_scores_of_arcs_with_labels_are_warned_of(tree):
    """Scores of other libraries have a row for the root, too; a batch of n - 1 such looks like one sentence."""
    with pytest.warns(UserWarning, match=r"one sentence of 5 words with 6 labels; .*labelled=True.*arcs\[:, 1:\]"):
        assert tree(torch.randn(5, 6, 6)).labelled
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tree(torch.randn(5, 6, 6), labelled=True).labelled
        assert tree(torch.randn(2, 5, 6, 6)).labelled
        assert not tree(torch.randn(5, 6, 6)[:, 1:]).labelled


def test_nested_tensors_are_no_scores():
    nested = torch.nested.nested_tensor([torch.zeros(3, 2), torch.zeros(2, 2)], layout=torch.jagged)
    with pytest.raises(ValueError, match=r"unary has the layout torch.jagged; .*to_padded_tensor makes one"):
        strukt.LinearChain(nested, torch.zeros(2, 2))


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ([0, 1, 0], r"the event is a list; expected a tensor of integers, .*, e\.g\. torch\.tensor\(event\)"),
        (np.array([0, 1, 0]), r"the event is a ndarray; .*, e\.g\. torch\.from_numpy\(event\)"),
        (torch.tensor([0, 1, 0], dtype=torch.complex64), "the event is of dtype torch.complex64; expected"),
    ],
)
def test_events_are_tensors_of_integers(event, message):
    for member in (chain().log_prob, chain().score, chain().to_parts, chain().explain):
        with pytest.raises(ValueError, match=message):
            member(event)


# Hidden Markov models.


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            (3,),
            r"HMM got no transition and emission; .* HMM\(initial, transition, emission\): .*NeuralHMM\(states,",
        ),
        ((torch.zeros(3),), r"HMM got no transition and emission; .*\(z, v\) of the words in each state$"),
        (
            (torch.zeros(3), torch.zeros(3, 3)),
            r"HMM got no emission; expected HMM\(initial, transition, emission\)",
        ),
    ],
)
def test_a_model_says_what_it_takes(arguments, message):
    with pytest.raises(ValueError, match=message):
        strukt.HMM(*arguments)


@pytest.mark.parametrize(
    "question", ["log_prob", "filter", "smooth", "predict", "posterior", "viterbi", "stream"]
)
def test_words_outside_the_vocabulary(question):
    expected = "expected words from 0 to 3, as there are 4 in the vocabulary"
    for x, place in (
        (torch.tensor([0, 4, 1]), "x holds 4 at position 1"),
        (torch.tensor([[0, 1], [2, -1]]), "x holds -1 at batch item 1, position 1"),
        (torch.tensor([[[0, 1]], [[7, 1]]]), r"x holds 7 at batch item \(1, 0\), position 0"),
    ):
        with pytest.raises(ValueError, match=f"^{place}; {expected}$"):
            getattr(model(), question)(x)


def test_a_word_that_is_there_is_in_the_vocabulary_also_beside_missing_ones():
    missing = torch.tensor([True, False, False])
    with pytest.raises(ValueError, match="x holds 4 at position 1; expected words from 0 to 3"):
        model().infill(torch.tensor([99, 4, 1]), missing)
    assert model().infill(torch.tensor([99, 3, 1]), missing).best.shape == (3,)


def test_cross_entropies_need_the_same_parts():
    def grammar(nonterminals, preterminals):
        rules = torch.zeros(nonterminals, *(nonterminals + preterminals,) * 2)
        return strukt.PCFG(torch.zeros(nonterminals), rules, torch.zeros(3, preterminals))

    with pytest.raises(ValueError, match=r"^other has 3 nonterminals; expected those of this distribution, 1$"):
        grammar(1, 3).cross_entropy(grammar(3, 1))
    each = strukt.LinearChain(torch.zeros(3, 2), torch.zeros(2, 2, 2))
    torch.testing.assert_close(chain().cross_entropy(each), chain().entropy())


def test_cross_entropies_need_batches_that_broadcast_and_equal_lengths():
    def trees(*batch, lengths=None, **options):
        return strukt.ProjectiveTree(torch.zeros(*batch, 3, 4), lengths, labelled=False, **options)

    with pytest.raises(ValueError, match=r"other has batch_shape \(3,\); expected one that broadcasts .* \(2,\)$"):
        trees(2).cross_entropy(trees(3))
    with pytest.raises(ValueError, match="other differs from this distribution in lengths for batch item 1"):
        trees(lengths=3).cross_entropy(trees(2, lengths=[3, 2]))
    with pytest.raises(NotImplementedError, match=r"^single_root is False in other and True in this distribution"):
        trees(2).cross_entropy(trees(2, single_root=False))


def test_cross_entropies_of_two_precisions_are_in_the_higher():
    single, double = (strukt.SpanTree(torch.zeros(4, 4, 2, dtype=each)) for each in (torch.float32, torch.float64))
    torch.testing.assert_close(single.cross_entropy(double), double.entropy())


# Shapes and types that do not fit.


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: strukt.LinearChain(torch.zeros(2, 3, 4), torch.zeros(4, 4), lengths=np.array([3, 2])),
            r"lengths is of type ndarray; .*\(2,\), torch\.from_numpy\(lengths\)$",
        ),
        (lambda: strukt.CTC([[0.0, 1.0]], torch.tensor([1])), r"^logits is a list; .*torch\.tensor\(logits\)$"),
        (lambda: strukt.KDPP([[1.0]], 1), r"^kernel is a list; .*torch\.tensor\(kernel\)$"),
        (
            lambda: strukt.KDPP(torch.eye(2), 1, scores=[0.0, 1.0]),
            r"^scores is a list; .*torch\.tensor\(scores\)$",
        ),
        (
            lambda: strukt.ShardedHMM(torch.zeros(3), torch.zeros(3, 3), torch.zeros(3, 4)),
            r"transition is a Tensor; expected LowRank\(source, target\)",
        ),
        (
            lambda: strukt.LinearChain(torch.zeros(1, 3), torch.zeros(3, 3)).log_prob(torch.tensor([0, 1, 7, -9])),
            r"^the event has shape \(4,\); expected it to end in .* \(1,\)$",
        ),
        (
            lambda: strukt.KSubset(torch.zeros(2, 3), 1).from_parts(torch.ones(2, 1)),
            r"^parts has shape \(2, 1\); expected it to end in .* scores, \(3,\)$",
        ),
        (
            lambda: strukt.KSubset(torch.zeros(3), 1).from_parts([1, 0, 0]),
            "^parts is a list; expected a tensor, as `to_parts` returns$",
        ),
        (
            lambda: chain(2).partial_log_prob(torch.zeros(5, 2, 3).long(), torch.ones(2, 3) > 0),
            r"^event has shape \(5, 2, 3\); expected one that .* \(2, 3\)$",
        ),
        (lambda: chain(2).expand((3,)), r"^batch_shape is \(3,\); expected one to which \(2,\) expands$"),
        (
            lambda: chain(2).rsample_relaxed(torch.tensor([1.0, 2.0])),
            r"^temperature is tensor\(\[1., 2.\]\); expected a number",
        ),
        *(
            (
                lambda states=states: model().select(torch.tensor(states)),
                "expected indices from 0 to 1, in ascending order",
            )
            for states in ([2], [1, 1], [1, 0], [-1])
        ),
        (
            lambda: model().stream(torch.tensor([[0, 1]]), torch.tensor([[0.5, -1.0]])),
            r"state holds -1\.0 at batch item 0, position 1; expected probabilities",
        ),
    ],
)
def test_the_argument_is_named_with_what_was_expected(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_events_and_spans_broadcast_to_the_batch():
    ctc = strukt.CTC(torch.zeros(2, 4, 3), torch.tensor([[1, 2], [1, 2]]))
    assert ctc.spans(torch.tensor([[1, 1, 2, 0]])).starts.tolist() == [[0, 2], [0, 2]]
    tags = torch.tensor([[0, 1, 1], [1, 0, 0]])
    together = fenchel_young_loss(chain(1), tags, cost="hamming")
    apart = [fenchel_young_loss(chain(), each, cost="hamming") for each in tags]
    torch.testing.assert_close(together, torch.stack(apart))


# Options of a wrong type.


@pytest.mark.parametrize("value", ["x", 2, None, torch.tensor([True, False])], ids=str)
def test_single_root_is_true_or_false(value):
    arcs = torch.zeros(3, 4)
    for make in (
        strukt.NonProjectiveTree,
        strukt.ProjectiveTree,
        lambda arcs, **options: strukt.SecondOrderTree(arcs, torch.zeros(3, 3, 4), **options),
        lambda _, **options: strukt.factors.Tree(strukt.FactorGraph().variables(3, 4), **options),
    ):
        with pytest.raises(ValueError, match=r"single_root is .*; expected True or False"):
            make(arcs, single_root=value)


@pytest.mark.parametrize("value", [np.True_, 1])
def test_options_may_be_booleans_of_numpy_and_0_or_1(value):
    assert strukt.ProjectiveTree(torch.zeros(3, 4), single_root=value).single_root is True


@pytest.mark.parametrize(
    ("kind", "shape"),
    [(strukt.NonProjectiveTree, (3, 4)), (strukt.ProjectiveTree, (3, 4)), (strukt.SpanTree, (4, 4))],
)
def test_labelled_is_true_or_false(kind, shape):
    with pytest.raises(ValueError, match=r"labelled is 'no'; expected True or False"):
        kind(torch.zeros(shape), labelled="no")
