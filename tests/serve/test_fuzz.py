"""Whatever is asked, the service answers it or refuses it in one line; it never fails."""

import json

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

NAMES = st.sampled_from(["parser", "tagger", "constituency", "ner"])
NUMBERS = st.one_of(st.integers(), st.floats(), st.integers(-2, 12))
CHARACTERS = st.text(st.characters(codec=None), max_size=40)  # with surrogates and control characters
SENTENCES = st.lists(
    st.sampled_from(["the", "cat", "sees", "<b>", "Ω", "国境", "\ufffe", "."]), min_size=1, max_size=9
)
TEXTS = st.one_of(SENTENCES.map(" ".join), CHARACTERS)
PARTS = st.one_of(
    st.fixed_dictionaries({"word": st.integers(-1, 9), "head": st.integers(-1, 9)}),
    st.fixed_dictionaries({"word": st.integers(1, 9), "tag": st.sampled_from(["NN", "DT", "?"])}),
    st.fixed_dictionaries(
        {"start": st.integers(0, 9), "end": st.integers(0, 9), "label": st.sampled_from(["NP", "PER", ""])}
    ),
    st.dictionaries(CHARACTERS, NUMBERS, max_size=3),
)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, CHARACTERS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(CHARACTERS, inner, max_size=4)),
    max_leaves=8,
)
VIEWS = st.sampled_from(["mode", "marginals", "samples", "kbest", "sparsemap"])
LIKELY = {
    "texts": st.lists(TEXTS, min_size=1, max_size=2),
    "model": NAMES,
    "view": VIEWS,
    "temperature": st.one_of(st.floats(0.01, 100), NUMBERS),
    "k": st.one_of(st.integers(1, 50), NUMBERS),
    "seed": NUMBERS,
    "required": st.lists(PARTS, max_size=3),
    "forbidden": st.lists(PARTS, max_size=3),
    "pictures": st.booleans(),
    "conllu": st.booleans(),
}
FIELDS = {name: st.one_of(likely, JSON) for name, likely in LIKELY.items()}
NECESSARY = ("texts", "model")


def questions(fields):
    given = {name: fields[name] for name in NECESSARY}
    return st.fixed_dictionaries(given, optional={name: fields[name] for name in fields if name not in given})


def post(client, body):
    return client.post("/predict", content=body, headers={"Content-Type": "application/json"})


def check(response):
    assert response.status_code in (200, 413, 422), response.text
    answer = json.loads(response.content.decode(), parse_constant=_refuse)
    if response.status_code != 200:
        assert answer.keys() == {"error"}
        assert 0 < len(answer["error"]) <= 404
        assert "Traceback" not in answer["error"]
    return response.status_code == 200


def _refuse(constant):
    raise AssertionError(f"{constant} is no JSON")


FUZZ = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@FUZZ
@given(st.one_of(questions(FIELDS), JSON))
def test_questions_of_any_shape(client, question):
    check(post(client, json.dumps(question)))


@FUZZ
@given(questions(LIKELY))
def test_questions_of_the_right_shape(client, question):
    check(post(client, json.dumps(question)))


@FUZZ
@given(SENTENCES, NAMES, VIEWS, st.floats(0.01, 100), st.integers(1, 50), st.booleans())
def test_every_good_question_has_an_answer(client, words, name, view, temperature, k, pictures):
    question = {
        "texts": [" ".join(words)], "model": name, "view": view, "temperature": temperature, "k": k,
        "pictures": pictures,
    }  # fmt: skip
    assert check(post(client, json.dumps(question)))


@settings(FUZZ, max_examples=6)
@given(NAMES, VIEWS, st.sampled_from([0.01, 0.1]))
@example("parser", "samples", 0.01)
def test_the_longest_questions_have_answers(client, name, view, temperature):
    text = "the old shy cat sees a wet red dog and " * 15
    question = {"texts": [text], "model": name, "view": view, "temperature": temperature, "k": 50}
    assert check(post(client, json.dumps(question)))


@FUZZ
@given(st.binary(max_size=60))
def test_bytes(client, body):
    check(post(client, body))
