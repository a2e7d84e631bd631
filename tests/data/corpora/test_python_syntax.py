"""Statements of Python as dependency trees."""

import ast
import io
import tokenize

import pytest

from strukt.data import conllu
from strukt.data.conllu import dependency_trees
from strukt.data.corpora.python_syntax import UPOS, statements


def tree(source):
    [sentence] = statements(source)
    return [(word.form, word.head, word.deprel) for word in sentence.words]


def test_call_and_attribute():
    assert tree("os.path.join(a, *b, sep=c)") == [
        ("os", 3, "value"),
        (".", 3, "punct"),
        ("path", 5, "value"),
        (".", 5, "punct"),
        ("join", 0, "root"),
        ("(", 5, "punct"),
        ("a", 5, "args"),
        (",", 5, "punct"),
        ("*", 5, "args"),
        ("b", 9, "value"),
        (",", 5, "punct"),
        ("sep", 5, "keywords"),
        ("=", 12, "operator"),
        ("c", 12, "value"),
        (")", 5, "punct"),
    ]


def test_operators_are_heads_and_brackets_belong_to_the_outer_one():
    assert tree("x = (a + b) * -c") == [
        ("x", 2, "targets"),
        ("=", 0, "root"),
        ("(", 8, "punct"),
        ("a", 5, "left"),
        ("+", 8, "left"),
        ("b", 5, "right"),
        (")", 8, "punct"),
        ("*", 2, "value"),
        ("-", 8, "right"),
        ("c", 9, "operand"),
    ]


def test_header_of_a_compound_statement():
    header, body = statements("for key, value in items:\n    total += value\n")
    assert header.forms == ["for", "key", ",", "value", "in", "items", ":"]
    assert header.heads == [0, 3, 1, 3, 1, 1, 1]
    assert header.deprels == ["root", "elts", "target", "elts", "keyword", "iter", "punct"]
    assert body.forms == ["total", "+=", "value"]


HEADERS = {
    "if x: pass": "if x :",
    "while (x := f({1: 2})): pass": "while ( x := f ( { 1 : 2 } ) ) :",
    "def f(a, *b: int, c=(1), **d) -> int: pass": "def f ( a , * b : int , c = ( 1 ) , ** d ) -> int :",
    "@g(lambda: 1)\nclass A(B, c=d,): pass": "class A ( B , c = d , ) :",
    "try: pass\nexcept (A, B) as e: pass": "except ( A , B ) as e :",
    "match x:\n  case [1, *_]: pass": "match x :",
    "for x in y[1:2]: pass\nelse: pass": "for x in y [ 1 : 2 ] :",
}


@pytest.mark.parametrize("source", HEADERS)
def test_headers(source):
    assert HEADERS[source] in [" ".join(sentence.forms) for sentence in statements(source)]


STATEMENTS = [
    "del a[0], b.c",
    "raise E(1) from e",
    "assert x is not None, 'text'",
    "from ..a.b import (c as d, e)",
    "return [x for y in z if y for x in y if x not in y]",
    "x = {**a, 'b': 1, c: {d, e}}",
    "x = lambda a, *b, c=1, **d: a or b and not c",
    "f(x for x in y)(z)[1:2, ::3, ...]",
    "x = 'a' 'b' f'c{d!r:>{e}}' f'{f(g)}'",
    "print((yield), ())",
    "é = ünï + 'ä'; z = é + 1",
    "x = a < b <= (c) == d",
    "print(f'{x}' if y else None, end='')",
]


@pytest.mark.parametrize("source", STATEMENTS)
def test_every_statement_is_a_projective_tree_over_its_tokens(source):
    found = list(statements(source))
    assert found
    for sentence in found:
        conllu.require_tree(sentence)
        assert dependency_trees.is_projective(sentence.heads)
        assert [UPOS[tag] for tag in sentence.column("xpos")] == sentence.column("upos")
    squeezed = "".join(source.split()).replace(";", "")
    assert "".join("".join(sentence.forms) for sentence in found).replace(" ", "") == squeezed


def test_an_f_string_is_one_token_on_every_version():
    [sentence] = statements("x = f'a{b + f\"{c}\"}d'")
    assert sentence.forms == ["x", "=", "f'a{b + f\"{c}\"}d'"]
    assert sentence.column("xpos")[2] == "STRING"


def test_tags_follow_the_role():
    [sentence] = statements("a.b = f(c.g(1), d=None) + 'e'")
    tags = dict(zip(sentence.forms, sentence.column("xpos"), strict=True))
    assert tags == {
        "a": "NAME",
        ".": "PUNCTUATION",
        "b": "ATTRIBUTE",
        "=": "OPERATOR",
        "f": "FUNCTION",
        "(": "PUNCTUATION",
        "c": "NAME",
        "g": "METHOD",
        "1": "NUMBER",
        ")": "PUNCTUATION",
        ",": "PUNCTUATION",
        "d": "ARGUMENT",
        "None": "CONSTANT",
        "+": "OPERATOR",
        "'e'": "STRING",
    }


def test_what_is_left_out():
    assert list(statements("x\n'''a\nb'''\npass\n")) == []
    assert list(statements("x = '''a\nb'''\n")) == []
    assert list(statements("x = 1 + 2 + 3\n", longest=6)) == []
    assert len(list(statements("x = 1 + 2 + 3\n", longest=7))) == 1


def test_order_and_place():
    first, second, third = statements("if a:\n    b = 1\nc = 2\n", "m.py")
    assert [sentence.line for sentence in (first, second, third)] == [1, 2, 3]
    assert second.comments == ["# sent_id = m.py:2"]
    assert second.path == "m.py"


def test_deep_nesting_does_not_recur():
    source = "x = " + "f(" * 80 + "1" + ")" * 80
    [sentence] = statements(source, longest=1000)
    assert dependency_trees.is_projective(sentence.heads)
    [sentence] = statements("x = y" + ".a" * 150, longest=1000)
    assert sentence.heads[2] == 5


def test_source_that_is_no_python():
    for source in ("x = (", "'''x", "x ="):
        with pytest.raises(SyntaxError):
            list(statements(source))


def test_the_own_source_of_the_module():
    import strukt.data.corpora.python_syntax as module

    with tokenize.open(module.__file__) as stream:
        source = stream.read()
    found = list(statements(source))
    count = sum(isinstance(node, ast.stmt) for node in ast.walk(ast.parse(source)))
    assert count * 0.8 < len(found) <= count
    for sentence in found:
        conllu.require_tree(sentence)
    assert all(sentence == next(conllu.read(io.BytesIO(str(sentence).encode()))) for sentence in found)
