"""Python source as a dependency treebank: statements are sentences; heads and tags come from the syntax tree.

- A sentence is a simple statement, or the header of a compound one up to its colon; its words are tokens.
- Each node of the syntax tree covers a run of tokens, one of which is its head: for a call, a subscript
  and an expression statement, the head of the child that `HEAD_CHILD` names; for an attribute, its name;
  otherwise the first token that belongs to no child, apart from parentheses: the operator, the keyword, the
  name, or the bracket. If every token belongs to a child, the head is that of the first child.
- The head of a child depends on the head of its parent, with the name of the child's field in `ast` as the
  relation (`func`, `args`, `left`, `target`, ...). The other tokens of the node depend on its head as `punct`,
  `operator`, `keyword`, `name`, or `flat` (a string after another one).

Since each node covers a run of tokens that contains its head, all trees are projective, with one root.
"""

from __future__ import annotations

import ast
import io
import keyword
import tokenize
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from strukt.data import conllu

HEAD_CHILD = {"Call": "func", "Subscript": "value", "Expr": "value"}
"""For each type of node, the field of the child whose head is the head of the node."""

UPOS = {
    "ARGUMENT": "NOUN",
    "ATTRIBUTE": "NOUN",
    "CONSTANT": "X",
    "DEFINITION": "PROPN",
    "FUNCTION": "VERB",
    "IMPORT": "PROPN",
    "KEYWORD": "AUX",
    "METHOD": "VERB",
    "NAME": "NOUN",
    "NUMBER": "NUM",
    "OPERATOR": "SYM",
    "PARAMETER": "NOUN",
    "PUNCTUATION": "PUNCT",
    "STRING": "X",
    "TARGET": "NOUN",
}
"""The tags of the XPOS column, each with the part of speech of natural language that is closest to it."""

_NAME_TAGS = {
    "AsyncFunctionDef": "DEFINITION",
    "Attribute": "ATTRIBUTE",
    "ClassDef": "DEFINITION",
    "ExceptHandler": "TARGET",
    "FunctionDef": "DEFINITION",
    "Import": "IMPORT",
    "ImportFrom": "IMPORT",
    "Match": "KEYWORD",
    "TypeAlias": "KEYWORD",
    "alias": "IMPORT",
    "arg": "PARAMETER",
    "keyword": "ARGUMENT",
}
_LEAVES = {"Constant", "JoinedStr", "TemplateStr"}
_BLOCKS = {"body", "orelse", "finalbody", "handlers", "cases", "decorator_list"}
_PUNCTUATION = set("()[]{},:;.")
_LAYOUT = {
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.COMMENT,
    tokenize.ENDMARKER,
}

Position = tuple[int, int]
"""Line, counted from 1, and character in it, counted from 0."""


class Token(NamedTuple):
    """A token of Python source; `kind` is its number in the module `token`."""

    kind: int
    form: str
    start: Position


def statements(source: str, path: str | None = None, longest: int = 60) -> Iterator[conllu.Sentence]:
    """Yield the statements of a module, in order, as sentences with the columns UPOS, XPOS, HEAD and DEPREL.

    Statements of one token, of more than `longest` tokens, or with a token that contains a line end or a TAB (a
    string) are left out.

    Args:
        source: The text of the module.
        path: Name of the module, for messages and the comment `# sent_id`.
        longest: Maximum number of tokens of a statement.

    Raises:
        SyntaxError: If the text is not a module of the running version of Python.

    Examples:
        >>> [sentence] = statements("total = sum(values)")
        >>> [(word.form, word.head, word.deprel) for word in sentence.words[:3]]
        [('total', 2, 'targets'), ('=', 0, 'root'), ('sum', 2, 'value')]
    """
    tree = ast.parse(source)  # first, because the tokenizer raises other errors on malformed source
    module = _Module(source)
    nodes = [node for node in ast.walk(tree) if isinstance(node, (ast.stmt, ast.ExceptHandler))]
    for node in sorted(nodes, key=lambda node: (node.lineno, node.col_offset)):
        span = module.header(node)
        forms = [token.form for token in module.tokens[slice(*span)]]
        if 1 < len(forms) <= longest and not any("\n" in form or "\t" in form for form in forms):
            yield _Tree(module, node, span).sentence(path)


class _Module:
    """The tokens of a module, with methods that find the tokens of a node of its syntax tree."""

    def __init__(self, source: str) -> None:
        self._lines = list(io.StringIO(source))
        self.tokens = list(_tokens(self._lines))
        self._starts = [token.start for token in self.tokens]

    def covered(self, node: ast.AST) -> tuple[int, int]:
        """Return the index of the first token of a node, and that of its last token plus 1."""
        first, last = self._position(node, ""), self._position(node, "end_")
        return bisect_left(self._starts, first), bisect_left(self._starts, last)

    def header(self, node: ast.AST) -> tuple[int, int]:
        """Return the range of `covered`, for a compound statement only up to the colon before its block."""
        first, last = self.covered(node)
        if not hasattr(node, "body") and not hasattr(node, "cases"):
            return first, last
        depth = 0
        for index in range(max([first, *(self.covered(child)[1] for _, child in _children(node))]), last):
            form = self.tokens[index].form
            depth += (form in ("(", "[", "{")) - (form in (")", "]", "}"))
            if form == ":" and depth <= 0:
                return first, index + 1
        return first, last

    def _position(self, node: ast.AST, prefix: str) -> Position:
        """Return the position of a node's first character; with the prefix "end_", that after its last one."""
        number, offset = getattr(node, prefix + "lineno"), getattr(node, prefix + "col_offset")
        line = self._lines[number - 1]
        # The syntax tree counts bytes; the tokenizer counts characters.
        return number, offset if line.isascii() else len(line.encode()[:offset].decode())


class _Tree:
    """The dependency tree of one statement; built without recursion, since code may be nested deeply."""

    def __init__(
        self, module: _Module, statement: ast.stmt | ast.ExceptHandler, span: tuple[int, int]
    ) -> None:
        self._module = module
        self._statement = statement
        self._span = span
        self._heads: dict[int, int] = {}
        self._deprels: dict[int, str] = {}
        self._tags: dict[int, str] = {}
        root = self._head(statement)
        self._attach(root, span[0] - 1, "root")
        called: set[ast.AST] = set()
        pending: list[ast.AST] = [statement]
        while pending:
            node = pending.pop()
            if isinstance(node, ast.Call):
                called.add(node.func)
            self._take(node, node in called)
            pending.extend(child for _, child in _children(node))

    def sentence(self, path: str | None) -> conllu.Sentence:
        first, last = self._span
        line = self._statement.lineno
        indices = range(first, last)
        tags = [self._tags[index] for index in indices]
        forms = [self._module.tokens[index].form for index in indices]
        return conllu.from_forms(forms, [f"# sent_id = {path}:{line}"], path, line).annotated(
            upos=[UPOS[tag] for tag in tags],
            xpos=tags,
            head=[self._heads[index] - first + 1 for index in indices],
            deprel=[self._deprels[index] for index in indices],
        )

    def _take(self, node: ast.AST, is_called: bool) -> None:
        """Attach the heads of a node's children and its own other tokens to its head, and tag its own tokens."""
        head = self._head(node)
        for field, child in _children(node):
            if self._head(child) != head:
                self._attach(self._head(child), head, field)
        for index in self._direct_tokens(node):
            token = self._module.tokens[index]
            self._tags[index] = _tag(token, node, is_called)
            if index != head:
                self._attach(index, head, _relation(self._tags[index]))

    def _attach(self, index: int, head: int, deprel: str) -> None:
        """Set the head and the relation of a token; all indices are those of tokens in the module."""
        self._heads[index] = head
        self._deprels[index] = deprel

    def _head(self, node: ast.AST) -> int:
        """Return the index of the token that is the head of a node, by the rules of this module."""
        direct = self._direct_tokens(node)
        while type(node).__name__ in HEAD_CHILD or not direct:
            node = getattr(node, HEAD_CHILD.get(type(node).__name__, ""), None) or next(_children(node))[1]
            direct = self._direct_tokens(node)
        if isinstance(node, ast.Attribute):
            return direct[-1]
        return next((index for index in direct if self._module.tokens[index].form not in ("(", ")")), direct[0])

    def _direct_tokens(self, node: ast.AST) -> list[int]:
        """Return the indices of the tokens of a node that belong to none of its children."""
        taken = {index for _, child in _children(node) for index in range(*self._module.covered(child))}
        span = self._span if node is self._statement else self._module.covered(node)
        return [index for index in range(*span) if index not in taken]


def _children(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield the field and the node of each child that has a position in the text, except those in blocks.

    Nodes without a position, such as comprehensions or the parameter list of a function, are replaced by their
    children. Such nodes are not directly inside each other, so this recursion is shallow.
    """
    if type(node).__name__ in _LEAVES:
        return
    for field, value in ast.iter_fields(node):
        if isinstance(value, list) and field in _BLOCKS:
            continue
        for item in value if isinstance(value, list) else [value]:
            if hasattr(item, "lineno"):
                yield field, item
            elif isinstance(item, ast.AST):
                yield from _children(item)


def _tokens(lines: Sequence[str]) -> Iterator[Token]:
    """Yield the tokens that are not layout; an f-string is one token, as it was up to Python 3.11."""
    depth = 0
    begin = (0, 0)
    for token in tokenize.generate_tokens(iter(lines).__next__):
        name = tokenize.tok_name[token.type]
        if name in ("FSTRING_START", "TSTRING_START"):
            begin = begin if depth else token.start
            depth += 1
        elif name in ("FSTRING_END", "TSTRING_END"):
            depth -= 1
            if not depth:
                yield Token(tokenize.STRING, _between(lines, begin, token.end), begin)
        elif not depth and token.type not in _LAYOUT:
            yield Token(token.type, token.string, token.start)


def _between(lines: Sequence[str], begin: Position, end: Position) -> str:
    """Return the text between two positions."""
    parts = list(lines[begin[0] - 1 : end[0]])
    parts[-1] = parts[-1][: end[1]]
    parts[0] = parts[0][begin[1] :]
    return "".join(parts)


def _tag(token: Token, node: ast.AST, is_called: bool) -> str:
    """Return the tag of a token of a node, a key of `UPOS`; `is_called` is True for what a call calls."""
    if token.kind == tokenize.NUMBER:
        return "NUMBER"
    if token.kind == tokenize.STRING:
        return "STRING"
    if token.kind != tokenize.NAME:
        return "PUNCTUATION" if token.form in _PUNCTUATION else "OPERATOR"
    if isinstance(node, ast.Constant):
        return "CONSTANT"
    if keyword.iskeyword(token.form):
        return "KEYWORD"
    if is_called:
        return "METHOD" if isinstance(node, ast.Attribute) else "FUNCTION"
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        return "TARGET"
    return _NAME_TAGS.get(type(node).__name__, "NAME")


def _relation(tag: str) -> str:
    """Return the relation of a token with this tag to the head of the same node."""
    if tag == "PUNCTUATION":
        return "punct"
    return tag.lower() if tag in ("OPERATOR", "KEYWORD") else "flat" if tag == "STRING" else "name"
