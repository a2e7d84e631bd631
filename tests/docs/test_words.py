"""Pages and docstrings are plain British English: subjects first, no known calques, short sentences and code."""

import ast
import re
from collections.abc import Iterator
from functools import cache

import pytest
from tests.docs.pages import DOCS, ROOT, name_of, text_of

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]

SOURCES = ROOT / "src" / "strukt"

PACKAGES = sorted(path.name for path in SOURCES.iterdir() if (path / "__init__.py").exists())

WORDS, COLUMN = 35, 88
"""The most words of a sentence, and characters of a line of code."""

AMERICAN = re.compile(
    r"\b("
    r"(un)?labeled|labeling|modeling|(color|behavior|neighbor|favorite)\w*|center(s|ed)?|gray|licenses?|percent"
    r"|(normal|initial|regular|general|optim|minim|maxim|token|recogn|serial|summar|penal|local)iz"
    r"(e[ds]?|ing|ations?)|analyz\w+"
    r")\b",
    re.IGNORECASE,
)

CALQUES = re.compile(
    r"the later wins|as many as there are|has it not|it is said|what stands|stands? (below|beyond|there|in its)"
    r"|all else|behind (it|each|a|the (last|prompt|batch))\b|hangs? (on|from)|(is|are) (told|refused)"
    r"|(be|were) (it|they) \w+|slip of the pen|graphics cards?|of one's own|\bwho (comes|has) (from|not)"
    r"|a sentence a line|other programs kept|(tells?|says?|asks?) of (which|what|whom)",
    re.IGNORECASE,
)
"""Phrases that are translated, mostly from German, and not written by native speakers."""

OPENINGS = re.compile(r"(What|Which|How|Whether|Where|Who|Of|The same)\b")
"""Openings of docstrings that are neither a verb nor the thing itself."""

BOX = re.compile(r"\n[ ]*\n( *)\w[\w -]*: \S.*\n\1 +\S")
"""A paragraph "Word: ..." whose next line is indented: the site sets its first line as the title of a box."""

EXAMPLE = r"^\s*>>> .*?(?:\n\s*\n|\Z)"
NO_WORDS = re.compile(
    rf"{EXAMPLE}|``[^`]*``|`[^`]*`|\"[^\"]*\"|https?://\S+|^\s*\w+:(?= )", re.MULTILINE | re.DOTALL
)
"""Parts of docstrings that keep their spelling: examples, code, titles, addresses, names of arguments."""

VAGUE = {"found", "given", "room", "lost", "own", "wanted"}
"""Parts of names that say little: better are nouns, or ``result``, ``arguments``, ``workspace``, ``local``."""

OTHERS_NAMES = {
    "batched.own", "Blocked.of_own_states", "ClassModel.given", "EntailmentModel.given", "Entmax.given",
    "Entmax.__init__.given", "ListModel.given", "Parser.given", "Sentence.__init__.found", "StructuredModel.given",
    "StructuredModel.given_weights", "Symbols.of_own_states", "Workers.lost", "_Timed.connection_lost",
}  # fmt: skip
"""Names with such words that are public, or those of a base class elsewhere."""

FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NO_PROSE = re.compile(r"^( {4}(?![-*])|\||#|--8<--).*$|<!--.*?-->", re.MULTILINE)
PARAGRAPH = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )")
PICTURE, LINK = re.compile(r"!\[[^\]]*\]\([^)]*\)"), re.compile(r"\[([^\]]*)\]\([^)]*\)")
NAMES = re.compile(r"`[^`]*`(?:(?:,| and| or|, and|, or) `[^`]*`)*")
END = re.compile(r"(?<=[.!?])[)\"*]*\s+(?=[A-Z0-9\"“(*§])")
WORD = re.compile(r"\w[\w'’.,-]*|§")


def sentences(text: str) -> Iterator[str]:
    """The sentences of a page, outside code, tables and headings; a list of names in code is one §."""
    text = NO_PROSE.sub("", PICTURE.sub("", FENCED.sub("", text)))
    for paragraph in PARAGRAPH.split(text):
        line = NAMES.sub("§", LINK.sub(r"\1", " ".join(paragraph.split())))
        yield from END.split(line)


def code(text: str) -> Iterator[str]:
    """The lines of code of a page, without what commands print and the source of formulas."""
    for language, block in FENCED.findall(text):
        if language not in ("text", "math"):
            yield from block.splitlines()


parsed = cache(ast.parse)


def docstrings(source: str) -> Iterator[str]:
    """The docstrings of a module, those of attributes and constants, too: all statements that are a string."""
    statements = [node.value for node in ast.walk(parsed(source)) if isinstance(node, ast.Expr)]
    values = [value.value for value in statements if isinstance(value, ast.Constant)]
    yield from (value for value in values if isinstance(value, str))


def names_bound(node: ast.AST, scope: str = "") -> Iterator[str]:
    """The names that code binds, each in its scope: variables, arguments, fields, functions, classes, modules."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield f"{scope}{child.name}"
            yield from names_bound(child, f"{scope}{child.name}.")
            continue
        if isinstance(child, ast.arg):
            yield f"{scope}{child.arg}"
        elif isinstance(child, ast.Name | ast.Attribute) and isinstance(child.ctx, ast.Store):
            yield f"{scope}{child.id if isinstance(child, ast.Name) else child.attr}"
        elif isinstance(child, ast.alias | ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and child.name:
            yield f"{scope}{getattr(child, 'asname', None) or child.name}"
        yield from names_bound(child, scope)


@cache
def docstrings_of(package: str) -> list[tuple[str, str]]:
    """The docstrings of a package, each with the name of its file."""
    paths = sorted((SOURCES / package).rglob("*.py"))
    return [(name_of(path), text) for path in paths for text in docstrings(text_of(path))]


AWK = "awk -F"
"""The beginning of a program that is one argument of a command."""

SUMMARIES = re.compile(r"<!-- names: begin -->.*?<!-- names: end -->", re.DOTALL)
"""Tables of the reference, whose words are those of docstrings."""

AS_THEY_ARE = re.compile(r"`[^`\n]*`|\]\([^)]*\)|^::: .*|^- .*\(\d{4}\)\. .*(?:\n  .*)*", re.MULTILINE)
"""Names in code, addresses, modules of the reference, and sources, whose titles keep their spelling."""


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_sentences_are_short_and_begin_with_their_subject(page):
    opening = re.compile(r"(What|Which|How|Whether)\b(?!.*\?)")
    lines = list(sentences(text_of(page)))
    assert [line for line in lines if opening.match(line) or len(WORD.findall(line)) > WORDS] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
@pytest.mark.parametrize("words", [AMERICAN, CALQUES], ids=["British", "idiomatic"])
def test_words(page, words):
    prose = AS_THEY_ARE.sub("", FENCED.sub("", SUMMARIES.sub("", text_of(page))))
    assert [found[0] for found in words.finditer(" ".join(prose.split()))] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_code_fits_its_column(page):
    long = [line for line in code(text_of(page)) if len(line) > COLUMN]
    assert [line for line in long if AWK not in line] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_begin_with_a_verb_or_the_thing_itself_and_have_no_boxes(package):
    docstrings = docstrings_of(package)
    assert [each for each in docstrings if OPENINGS.match(each[1]) or BOX.search(each[1])] == []


@pytest.mark.parametrize("package", PACKAGES)
@pytest.mark.parametrize("words", [AMERICAN, CALQUES], ids=["British", "idiomatic"])
def test_words_of_docstrings(package, words):
    prose = ((name, " ".join(NO_WORDS.sub("", text).split())) for name, text in docstrings_of(package))
    assert [(name, found[0]) for name, text in prose for found in words.finditer(text)] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_names_say_what_they_hold(package):
    for path in sorted((SOURCES / package).rglob("*.py")):
        names = set(names_bound(parsed(text_of(path)))) - OTHERS_NAMES
        vague = {name for name in names if VAGUE & set(name.rpartition(".")[2].lower().split("_"))}
        assert vague == set(), name_of(path)


CODE = """
import a.b as c
from d import e

class F(g):
    h: int

    def i(self, j=k):
        self.l, m = n
        for o in p: [q for r in s]
        with t as u: v[w] = (x := y)
"""


def test_names_are_found():
    names = "c e F F.h F.i F.i.self F.i.j F.i.l F.i.m F.i.o F.i.r F.i.u F.i.x"
    assert sorted(names_bound(ast.parse(CODE))) == sorted(names.split())


MODULE = '''"""Module."""

A = 1
"""Constant."""

class B:
    a: int
    """Attribute."""

def f():
    """Function."""
    return "text"
'''


def test_docstrings_are_found():
    assert sorted(docstrings(MODULE)) == ["Attribute.", "Constant.", "Function.", "Module."]


def test_sentences_are_found():
    page = "# Heading\n\nOne. Two of `a`, `b` and `c`\n(see [three](x.md)). Four!\n\n- five\n- six\n\n| a | b |\n"
    assert [line for line in sentences(page) if line] == [
        "One.",
        "Two of § (see three).",
        "Four!",
        "- five",
        "- six",
    ]
