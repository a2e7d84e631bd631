"""The estimator: beside sklearn-crfsuite, in scikit-learn's tools, on disk."""

# ruff: noqa: N806  # scikit-learn calls its inputs X

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="needs scikit-learn: pip install scikit-learn")

from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from strukt.errors import DataError
from strukt.sklearn import ChainClassifier

EXACT = {"epsilon": 1e-7, "delta": 0.0}


def corpus(count=40, seed=0):
    """Sentences of words of which the tag depends on the word, its neighbour and a number."""
    generator = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(count):
        words = generator.choice(list("abcdefg"), generator.integers(0, 9))
        X.append(
            [
                {"word": str(w), "vowel": w in "ae", "place": 0.1 * t, "near": {"next": str(n)}}
                for t, (w, n) in enumerate(zip(words, [*words, "end"][1:][: len(words)], strict=True))
            ]
        )
        following = [*words, ""][1:]
        tags = [
            "V" if w in "ae" else "B" if n == "a" else "O"
            for w, n in zip(words, following[: len(words)], strict=True)
        ]
        y.append([t if generator.random() < 0.9 else "O" for t in tags])
    return X, y


X, Y = corpus()
NEW = corpus(10, seed=1)[0]


@pytest.mark.parametrize(
    "options",
    [
        {"c1": 0.0, "c2": 1.0},
        {"c1": 0.5, "c2": 0.01},
        {"c2": 0.1, "all_possible_transitions": True},
        {"c2": 0.1, "all_possible_states": True},
        {"c2": 0.1, "min_freq": 3},
    ],
    ids=str,
)
def test_the_minimum_is_that_of_crfsuite(options):
    crfsuite = pytest.importorskip("sklearn_crfsuite", reason="needs sklearn-crfsuite")
    peer = crfsuite.CRF(algorithm="lbfgs", epsilon=1e-7, delta=1e-12, period=50, **options)
    peer.fit(X, Y)
    model = ChainClassifier(**EXACT, **options).fit(X, Y)
    assert model.loss_ <= peer.training_log_.iterations[-1]["loss"] + 1e-4
    assert model.loss_ == pytest.approx(peer.training_log_.iterations[-1]["loss"], rel=1e-5)
    for own, other in (
        (model.state_features_, peer.state_features_),
        (model.transition_features_, peer.transition_features_),
    ):
        for name in own.keys() | other.keys():
            assert own.get(name, 0.0) == pytest.approx(other.get(name, 0.0), abs=2e-3)
    assert model.predict(NEW) == [list(tags) for tags in peer.predict(NEW)]
    for tokens, others in zip(model.predict_marginals(NEW), peer.predict_marginals(NEW), strict=True):
        for token, other in zip(tokens, others, strict=True):
            assert token == pytest.approx(other, abs=2e-3)
    assert set(model.attributes_) >= {name for name, _ in model.state_features_}


def test_one_sequence_is_answered_as_in_a_list():
    model = ChainClassifier().fit(X, Y)
    assert [model.predict_single(one) for one in NEW] == model.predict(NEW)
    for one, many in zip(NEW, model.predict_marginals(NEW), strict=True):
        for token, other in zip(model.predict_marginals_single(one), many, strict=True):
            assert token == pytest.approx(other)
            assert sum(token.values()) == pytest.approx(1.0)
            assert list(token) == ["B", "O", "V"]
    assert model.predict([]) == []
    assert model.predict([[]]) == [[]]
    assert model.predict_marginals([[], []]) == [[], []]


def test_the_score_is_accuracy_by_token():
    model = ChainClassifier().fit(X, Y)
    right = [
        a == b for one, two in zip(model.predict(X), Y, strict=True) for a, b in zip(one, two, strict=True)
    ]
    assert model.score(X, Y) == pytest.approx(sum(right) / len(right))
    assert model.score([X[1]], [["unseen"] * len(X[1])]) == 0.0
    with pytest.raises(ValueError, match="X has no tokens; expected 1 or more to score"):
        model.score([[]], [[]])
    with pytest.raises(ValueError, match=r"y\[0\] has 0 labels and X\[0\] has \d tokens"):
        model.score([X[1]], [[]])


def test_it_is_searched_and_cloned():
    search = GridSearchCV(ChainClassifier(max_iterations=20), {"c2": [0.1, 100.0], "c1": [0.0, 0.1]}, cv=3)
    assert search.fit(X, Y).best_params_["c2"] == 0.1
    assert search.best_score_ > 0.8
    assert clone(search.best_estimator_).get_params() == search.best_estimator_.get_params()


def test_it_ends_a_pipeline():
    def words(sequences):
        return [[[item["word"]] for item in sequence] for sequence in sequences]

    model = Pipeline([("words", FunctionTransformer(words)), ("chain", ChainClassifier())]).fit(X, Y)
    assert set(model["chain"].attributes_) == set("abcdefg")
    assert model.predict(NEW) == ChainClassifier().fit(words(X), Y).predict(words(NEW))


@pytest.mark.parametrize("c1", [0.0, 0.3])
def test_it_is_pickled_and_saved(c1, tmp_path):
    model = ChainClassifier(c1=c1, c2=np.float64(0.1)).fit(X, Y)
    model.save(tmp_path / "model")
    assert {path.name for path in (tmp_path / "model").iterdir()} == {"model.json", "weights.safetensors"}
    for again in (pickle.loads(pickle.dumps(model)), ChainClassifier.load(tmp_path / "model")):
        assert again.get_params() == model.get_params()
        assert again.predict(NEW) == model.predict(NEW)
        assert again.state_features_ == model.state_features_
        assert again.transition_features_ == model.transition_features_
        assert again.attributes_ == model.attributes_
        assert (again.loss_, again.n_iter_, again.converged_) == (
            model.loss_,
            model.n_iter_,
            model.converged_,
        )
        assert again.classes_.tolist() == ["B", "O", "V"]
        twice = [
            one.partial_fit(*corpus(5, 2)).state_features_
            for one in (again, pickle.loads(pickle.dumps(model)))
        ]
        assert twice[0] == pytest.approx(twice[1])


@pytest.mark.parametrize("row", [np.array, list])
def test_labels_and_parameters_may_be_numbers_of_numpy(row, tmp_path):
    y = [row(np.array(["BOV".index(tag) for tag in tags], np.int64)) for tags in Y]
    model = ChainClassifier(c1=np.float32(0.1)).fit(X, y)
    assert model.classes_.tolist() == [0, 1, 2]
    assert {type(tag) for tags in model.predict(NEW) for tag in tags} == {int}
    model.save(tmp_path)
    assert ChainClassifier.load(tmp_path).predict(NEW) == model.predict(NEW)


def test_a_saved_model_outlives_one_that_cannot_be_written(tmp_path):
    model = ChainClassifier().fit(X, Y)
    model.save(tmp_path)
    with pytest.raises(UnicodeEncodeError):
        ChainClassifier().fit([[{"word": "\ud800"}, {"word": "b"}]], [["B", "O"]]).save(tmp_path)
    assert ChainClassifier.load(tmp_path).predict(NEW) == model.predict(NEW)
    assert {path.name for path in tmp_path.iterdir()} == {"model.json", "weights.safetensors"}


def test_a_model_is_not_saved_where_a_file_is(tmp_path):
    (tmp_path / "model").write_text("notes")
    with pytest.raises(DataError, match="model: cannot be written: File exists"):
        ChainClassifier().fit(X, Y).save(tmp_path / "model")
    assert (tmp_path / "model").read_text() == "notes"


@pytest.mark.parametrize("file", ["model.json", "weights.safetensors"])
def test_damaged_models_are_named(file, tmp_path):
    ChainClassifier().fit(X, Y).save(tmp_path)
    whole = (tmp_path / file).read_bytes()
    (tmp_path / file).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=file):
        ChainClassifier.load(tmp_path)
    (tmp_path / file).unlink()
    with pytest.raises(DataError, match=f"{file}: is missing"):
        ChainClassifier.load(tmp_path)


def test_weights_of_another_model_are_refused(tmp_path):
    ChainClassifier().fit(X, Y).save(tmp_path / "one")
    ChainClassifier().fit(X[:3], [["O"] * len(one) for one in X[:3]]).save(tmp_path / "two")
    (tmp_path / "two" / "model.json").replace(tmp_path / "one" / "model.json")
    with pytest.raises(DataError, match=r"does not fit model\.json"):
        ChainClassifier.load(tmp_path / "one")
    (tmp_path / "one" / "model.json").write_text(json.dumps({"format": 9}))
    with pytest.raises(DataError, match="is not a ChainClassifier of format 1"):
        ChainClassifier.load(tmp_path / "one")


@pytest.mark.parametrize(
    "change",
    [
        {"parameters": None},
        {"parameters": {"c3": 1.0}},
        {"results": "ab"},
        {"attributes": ["a"]},
    ],
)
def test_damaged_entries_are_named(change, tmp_path):
    ChainClassifier().fit(X, Y).save(tmp_path)
    content = json.loads((tmp_path / "model.json").read_text())
    if "attributes" in change:
        change = {"attributes": change["attributes"] * len(content["attributes"])}
    (tmp_path / "model.json").write_text(json.dumps(content | change))
    with pytest.raises(DataError, match=r"model\.json.*save the model again"):
        ChainClassifier.load(tmp_path)
    content.pop(next(iter(change)))
    (tmp_path / "model.json").write_text(json.dumps(content))
    with pytest.raises(DataError, match="save the model again"):
        ChainClassifier.load(tmp_path)


def test_vectors_are_learned_from():
    generator = np.random.default_rng(0)
    y = [generator.integers(0, 3, n) for n in generator.integers(1, 12, 60)]
    vectors = [np.eye(3)[tags] + 0.3 * generator.standard_normal((len(tags), 3)) for tags in y]
    model = ChainClassifier(c2=0.1).fit(vectors, y)
    assert model.score(vectors, y) > 0.9
    assert model.n_features_in_ == 3
    assert model.attributes_ == ["x0", "x1", "x2"]
    named = [[{f"x{j}": value for j, value in enumerate(row)} for row in one] for one in vectors]
    other = ChainClassifier(c2=0.1, all_possible_states=True).fit(named, y)
    assert other.loss_ == pytest.approx(model.loss_)
    with pytest.raises(ValueError, match=r"X\[0\] has shape \(1, 4\); expected \(n, 3\)"):
        model.predict([np.zeros((1, 4))])


def test_a_stream_comes_near_to_the_minimum_of_all():
    batch = ChainClassifier(c2=0.1).fit(X, Y)
    stream = ChainClassifier(c2=0.1)
    for begin in range(0, 40, 10):
        stream.partial_fit(X[begin : begin + 10], Y[begin : begin + 10], classes=["O", "B", "V"])
        assert stream.classes_.tolist() == ["B", "O", "V"]
    assert stream.score(X, Y) > 0.8
    assert stream.score(X, Y) > batch.score(X, Y) - 0.1
    assert set(stream.attributes_) == set(batch.attributes_)
    with pytest.raises(ValueError, match="y has the label 'X'; expected one of"):
        stream.partial_fit([[{"word": "a"}]], [["X"]])
    with pytest.raises(ValueError, match="expected those of the first call"):
        stream.partial_fit(X, Y, classes=["O"])


def test_a_model_goes_on_learning_new_attributes():
    model = ChainClassifier(c1=0.01, c2=0.01).fit(X, Y)
    before = model.score(X, Y)
    for _ in range(20):
        model.partial_fit([[{"word": "new"}]], [["B"]])
    assert model.state_features_["word:new", "B"] > 0
    assert model.predict([[{"word": "new"}]]) == [["B"]]
    assert model.score(X, Y) > before - 0.05


def test_penalties_make_weights_zero_in_a_stream_too():
    many, few = (ChainClassifier(c1=c1).partial_fit(X, Y) for c1 in (0.0, 5.0))
    assert 0 < len(few.state_features_) < 0.7 * len(many.state_features_)


def test_progress_is_printed(capsys):
    ChainClassifier(verbose=True, max_iterations=3, c1=0.1).fit(X, Y)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines] == [["Iter", "1"], ["Iter", "2"], ["Iter", "3"]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"c1": -1.0}, "c1 is -1.0; expected a finite number of 0 or more"),
        ({"c2": "1"}, "c2 is '1'; expected a finite number of 0 or more"),
        ({"max_iterations": 0}, "max_iterations is 0; expected a whole number of 1 or more or None"),
        ({"period": None}, "period is None; expected a whole number of 1 or more"),
        ({"learning_rate": 0}, "learning_rate is 0; expected a finite number above 0"),
        ({"all_possible_states": "no"}, "all_possible_states is 'no'; expected True or False"),
        ({"all_possible_transitions": None}, "all_possible_transitions is None; expected True or False"),
    ],
)
def test_wrong_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        ChainClassifier(**options).fit(X, Y)


def test_wrong_calls_are_refused(tmp_path):
    with pytest.raises(NotFittedError):
        ChainClassifier().predict(X)
    with pytest.raises(NotFittedError):
        ChainClassifier().save(tmp_path)
    with pytest.raises(ValueError, match="X has no tokens; expected 1 or more to learn from"):
        ChainClassifier().fit([], [])
    with pytest.raises(ValueError, match="X is of type NoneType"):
        ChainClassifier().fit(None, Y)
    for classes in ([], None):
        with pytest.raises(ValueError, match="there are no labels; expected all possible ones in classes"):
            ChainClassifier().partial_fit([[]], [[]], classes)
    with pytest.raises(ValueError, match="classes has labels of type int, str; expected all strings or all"):
        ChainClassifier().partial_fit(X, Y, classes=["B", 1])
    for classes in ("BOV", 5):
        with pytest.raises(ValueError, match=f"classes is {classes!r}; expected a list of labels"):
            ChainClassifier().partial_fit(X, Y, classes=classes)
