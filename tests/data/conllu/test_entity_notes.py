"""Entities in the MISC column of CoNLL-U, on GUM and on small files."""

import csv
import gzip
import io
import re
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.data.entities.test_mentions import entities
from tests.data.sources import shared, stream
from tests.fuzz.grammars import attempt, mutated, mutations

from strukt.data.conllu import entity_notes
from strukt.data.entities import Entity, crossings, depths, ordered
from strukt.data.text import read_for_entities
from strukt.errors import DataError

DEVELOPMENT = (18, 693, 16241, 4544, 1927)
"""Documents, sentences, words, mentions and mentions inside another, as the notes beside the data count them."""

DECLARED = "# global.Entity = GRP-etype-infstat-link"


FILE = "e00f0b389"
"""What the identifiers of new mentions begin with: the CRC-32 of `a.conllu`."""


def words(*notes, first=1):
    """The lines of words with these notes; `_` stands for none."""
    return "".join(f"{number}\tw" + "\t_" * 7 + f"\t{note}\n" for number, note in enumerate(notes, first))


def named(content):
    return stream(content, "a.conllu")


def read(content):
    return list(entity_notes.read(named(content)))


def sentence(*notes):
    [found] = read(f"{DECLARED}\n{words(*notes)}\n")
    return found


def test_a_sentence_that_stands_alone_declares_its_fields():
    first, second, third = read(
        f"{DECLARED}\n{words('Entity=(1-person-new-_)')}\n# text = w\n{words('Entity=(2-place-new-_)')}\n"
        f"# newdoc\n# global.Entity = eid-etype\n{words('Entity=(3-place)')}\n"
    )
    assert first.standing_alone() is first
    assert third.standing_alone() is third
    alone = second.standing_alone()
    assert str(alone) == f"{DECLARED}\n{second}"
    assert read(str(alone))[0].entities == second.entities
    [plain] = read(f"{words('_')}\n")
    assert plain.standing_alone() is plain


def identifiers(text):
    return re.findall(r"\(([^()-]+)-", "".join(re.findall(r"Entity=([^|\n]*)", text)))


def test_gum_goes_round_and_counts_agree():
    gum = shared("gum")
    with open(gum / "splits.tsv", encoding="utf-8") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        names = [row["document"] for row in rows if row["split"] == "dev"]
    original = "".join(
        gzip.decompress((gum / "dep" / f"{name}.conllu.gz").read_bytes()).decode() for name in names
    )
    sentences = read(original)
    assert "".join(map(str, sentences)) == original
    found = [sentence.entities for sentence in sentences]
    counts = (
        len(names),
        len(sentences),
        sum(map(len, sentences)),
        sum(map(len, found)),
        sum(depth > 0 for entities in found for depth in depths(entities)),
    )
    assert counts == DEVELOPMENT
    assert not any(crossings(entities) for entities in found)

    written = [sentence.annotated(entities=sentence.entities) for sentence in sentences]
    text = "".join(map(str, written))
    assert "Bridge=" in original
    assert "Bridge=" not in text
    assert [sentence.entities for sentence in read(text)] == found
    assert len(set(identifiers(text))) == len(identifiers(text)) == counts[3]
    without = re.compile(r"(Entity|Bridge|SplitAnte)=[^|\n]*")
    for before, after in zip(sentences, written, strict=True):
        assert before.plain.comments == after.plain.comments
        for old, new in zip(before.plain.words, after.plain.words, strict=True):
            assert old[:9] == new[:9]
            kept = [note for note in old.misc.split("|") if note != "_" and not without.fullmatch(note)]
            assert kept == [
                note for note in new.misc.split("|") if note != "_" and not without.fullmatch(note)
            ]


def test_fields_hold_until_they_are_declared_anew():
    text = (
        f"# newdoc id = a\n# global.Entity = GRP-etype-infstat\n{words('Entity=(1-person-new', 'Entity=1)')}\n"
        f"{words('SpaceAfter=No|Entity=(2-place)|X=1')}\n"
        f"# newdoc id = b\n#global.Entity=eid-head-etype\n{words('Entity=(e1-1-time-_)')}\n"
        f"{words('_')}\n"
    )
    first, second, third, fourth = read(text)
    assert first.entities == [Entity(0, 2, "person")]
    assert second.entities == [Entity(0, 1, "place")]
    assert third.entities == [Entity(0, 1, "time")]
    assert fourth.entities == []
    assert second.fields == ("GRP", "etype", "infstat")
    assert fourth.fields == ("eid", "head", "etype")
    assert [found.is_annotated for found in (first, fourth)] == [True, True]
    assert "".join(map(str, (first, second, third, fourth))) == text


NOTES = {
    "one within another": (
        ["Entity=(3-a(4-b-new(5-c-new-Eye-Tracking)", "_", "Entity=(6-d)4)3)"],
        [(0, 3, "a"), (0, 3, "b"), (0, 1, "c"), (2, 3, "d")],
    ),
    "one group closes from the inside": (
        ["Entity=(1-a", "Entity=(1-b", "Entity=1)", "Entity=1)"], [(0, 4, "a"), (1, 3, "b")]
    ),
    "they cross, and one closes where another opens": (
        ["Entity=(1-a", "Entity=1)(2-b", "Entity=2)"], [(0, 2, "a"), (1, 3, "b")]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NOTES)
def test_mentions_are_read_and_written(name):
    notes, expected = NOTES[name]
    found = sentence(*notes)
    assert found.entities == expected
    assert found.line_of(2) == 4
    again = found.annotated(entities=found.entities)
    assert again.entities == expected
    assert name != "they cross, and one closes where another opens" or again.column("misc")[1] == (
        f"Entity={FILE}.1.1.1)({FILE}.1.2.1-b-_-_"
    )


def test_written_notes():
    found = sentence("A=1|Entity=(1-a)|B=2", "Entity=(2-a", "Entity=2)", "C=3")
    written = found.annotated(entities=[Entity(1, 2, "in"), Entity(0, 4, "out"), Entity(2, 4, "end")])
    assert written.column("misc") == [
        f"A=1|B=2|Entity=({FILE}.1.1.1-out-_-_",
        f"Entity=({FILE}.1.2.1-in-_-_)",
        f"Entity=({FILE}.1.3.1-end-_-_",
        f"C=3|Entity={FILE}.1.3.1){FILE}.1.1.1)",
    ]
    assert found.annotated(entities=[]).column("misc") == ["A=1|B=2", "_", "_", "C=3"]
    assert written.plain.comments == [DECLARED]
    assert found.annotated() == found


def test_notes_that_refer_to_replaced_mentions_go_with_them():
    found = sentence("A=1|Bridge=53<54|Entity=(54-a)|SplitAnte=9<24,10<24|Z=2", "SplitAnte=1<2", "Bridge=1<2")
    assert found.annotated(upos=["X"] * 3).column("misc") == found.column("misc")
    written = found.annotated(entities=[Entity(1, 2, "b")])
    assert written.column("misc") == ["A=1|Z=2", f"Entity=({FILE}.1.2.1-b-_-_)", "_"]


def test_mentions_of_several_files_have_different_identifiers(tmp_path):
    paths = [tmp_path / name / "a.conllu" for name in "abc"]
    found = []
    for path in paths:
        path.parent.mkdir()
        path.write_text(f"{words('_', '_')}\n{words('_')}\n", encoding="utf-8")
        found += entity_notes.read(path)
    mentions = [Entity(0, 1, "x"), Entity(0, 1, "y")]
    text = "".join(str(sentence.annotated(entities=mentions)) for sentence in found)
    assert len(set(identifiers(text))) == len(identifiers(text)) == 12
    assert [sentence.entities for sentence in read(text)] == [mentions] * 6


def test_mentions_of_lines_of_text_have_different_identifiers():
    """A line of text becomes a line of CoNLL-U for each word, which its number in the file does not tell."""
    found = read_for_entities(io.BytesIO(b"Ada met Bo\nCy met Di\n\nEd\n"))
    mentions = [[Entity(at, at + 1, "x") for at in range(length)] for length in (3, 3, 1)]
    text = "".join(str(one.annotated(entities=each)) for one, each in zip(found, mentions, strict=True))
    assert len(set(identifiers(text))) == len(identifiers(text)) == 7


def test_the_type_stands_in_the_field_that_is_declared_for_it():
    [found] = read(f"# global.Entity = eid-head-etype-other\n{words('_')}\n")
    assert found.annotated(entities=[Entity(0, 1, "x")]).column("misc") == [f"Entity=({FILE}.1.1.1-_-x-_)"]


def test_a_file_without_declaration_gets_one():
    text = f"# newdoc id = a\n# sent_id = 1\n{words('_')}\n{words('_', '_')}\n"
    first, second = read(text)
    assert (first.is_annotated, first.entities, first.fields) == (False, [], None)
    assert str(first.annotated(entities=[])).startswith(
        "# newdoc id = a\n# global.Entity = eid-etype\n# sent_id = 1\n"
    )
    written = [found.annotated(entities=[Entity(0, 1, "x")]) for found in (first, second)]
    assert str(written[0]).count("global.Entity") == 1
    assert "global.Entity" not in str(written[1])
    assert written[0].annotated(entities=[]).plain.comments == written[0].plain.comments
    assert [found.entities for found in read("".join(map(str, written)))] == [[Entity(0, 1, "x")]] * 2
    [bare] = read(f"{words('_')}\n")
    assert str(bare.annotated(entities=[])).startswith("# global.Entity = eid-etype\n1\tw")


def test_other_columns():
    found = sentence("Entity=(1-a)", "_")
    noted = found.annotated(upos=["X", "Y"], entities=[Entity(1, 2, "b")]).with_misc(p=["1", "2"])
    assert noted.column("upos") == ["X", "Y"]
    assert noted.column("misc") == ["p=1", f"Entity=({FILE}.1.2.1-b-_-_)|p=2"]
    assert (noted.forms, noted.entities) == (["w", "w"], [Entity(1, 2, "b")])
    assert found.annotated(upos=["X", "Y"]).entities == found.entities
    with pytest.raises(ValueError, match="CoNLL-U has no column 'entity'"):
        found.annotated(entity=["a", "b"])


@pytest.mark.parametrize("label", ["a-b", "a(b", "a)b", "a|b", "a\tb", "", "_"])
def test_types_that_cannot_stand_in_a_note(label):
    with pytest.raises(ValueError, match="cannot be written"):
        sentence("_").annotated(entities=[Entity(0, 1, label)])


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (words("_", "Entity=(1-a)"), 2, "the fields of the mentions are not declared; state their order"),
        ("# global.Entity = GRP-infstat\n" + words("_"), 1, "'GRP-infstat', with no etype after the identifier"),
        ("# global.Entity = etype-eid\n" + words("_"), 1, "with no etype after the identifier"),
        (f"{DECLARED}\n" + words("Entity=(1-a", "_"), 2, "the mention 1 is not closed in its sentence"),
        (f"{DECLARED}\n" + words("_", "Entity=7)"), 3, "the mention 7 is closed but not open; write (7-type"),
        (f"{DECLARED}\n" + words("Entity=1)(1-a)"), 2, "the mention 1 is closed but not open"),
        (f"{DECLARED}\n" + words("Entity=(1)"), 2, "the mention 1 has no type; write it as field 2"),
        (f"{DECLARED}\n" + words("Entity=(1-_-new)"), 2, "the mention 1 has no type"),
        (f"{DECLARED}\n" + words("Entity=(1--new)"), 2, "the mention 1 has no type"),
        (f"{DECLARED}\n" + words("Entity=(1[1/2]-a)", "_", "Entity=(1[2/2]-a)"), 2, "is a part of one with gaps"),
        (f"{DECLARED}\n" + words("Entity=1"), 2, "the note Entity=1 cannot be understood; write (id-type"),
        (f"{DECLARED}\n" + words("Entity=()"), 2, "the note Entity=() cannot be understood"),
        (f"{DECLARED}\n" + words("Entity=(1-a))"), 2, "cannot be understood"),
        (f"{DECLARED}\n1-2\tw" + "\t_" * 7 + "\tEntity=(1-a)\n" + words("_", "_"), 2, "on the line with ID 1-2"),
        (f"{DECLARED}\n{words('_')}1.1\tw" + "\t_" * 7 + "\tEntity=(1-a)\n", 3, "on the line with ID 1.1"),
        ("1\tw\n", 1, "expected 10 columns, found 2"),
    ],
)  # fmt: skip
def test_broken_notes(text, line, message):
    before = f"{DECLARED}\n{words('Entity=(1-a)')}\n" if text.startswith("#") else ""
    offset = before.count("\n")
    with pytest.raises(DataError) as caught:
        read(f"{before}{text}\n")
    assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
    assert (caught.value.path, caught.value.line) == ("a.conllu", line + offset)
    problems = []
    good = f"{DECLARED}\n{words('Entity=(1-a)')}\n"
    found = entity_notes.read(named(f"{before}{text}\n{good}"), problems.append)
    assert [found.entities for found in found] == [[Entity(0, 1, "a")]] * (2 if before else 1)
    assert all(line + offset <= problem.line < line + offset + 3 for problem in problems)


def test_a_sentence_with_several_problems():
    problems = []
    text = f"{words('Entity=(1-a)(2-b', 'Entity=3)(4[1/2]-a', 'Entity=4[1/2])')}\n"
    assert list(entity_notes.read(named(text), problems.append)) == []
    assert [(problem.rule, problem.line) for problem in problems] == [
        ("entity", line) for line in (1, 2, 2, 1)
    ]


@given(entities)
def test_what_is_written_is_read(found):
    before = sentence(*["X=1"] * 7, *["_"] * 8)
    written = before.annotated(entities=found)
    assert written.entities == ordered(found)
    [again] = read(str(written))
    assert again.entities == ordered(found)
    assert again.annotated(entities=[]) == before
    assert len(set(identifiers(str(written)))) == len(set(found))


@pytest.mark.parametrize("tail", ["x", "(", ")", "()"])
def test_a_long_note_that_is_wrong_at_its_end(tail):
    for count in (8, 50, 5000):  # were there two ways to read a mention, 8 would take seconds and 50 for ever
        before = process_time()
        with pytest.raises(DataError, match="cannot be understood"):
            sentence("Entity=" + "(1-abstract)" * count + tail)
        assert process_time() - before < 2


def test_a_long_declaration_that_is_wrong_at_its_end():
    before = process_time()
    comment = f"# global.Entity ={' ' * 60_000}eid etype"  # no declaration, as it has two words
    [found] = read(f"{comment}\n{words('_')}\n")
    assert not found.is_annotated
    assert process_time() - before < 2


@given(st.text("()ab", max_size=9))
def test_which_notes_can_be_understood(note):
    # Rest after each piece, by brute force: a single mention, one that opens, one that closes.
    rests, seen = {note}, set()
    while rests - seen:
        rest = (rests - seen).pop()
        seen.add(rest)
        pieces = re.compile(r"\([ab]+\)"), re.compile(r"\([ab]+"), re.compile(r"[ab]+\)")
        rests |= {
            rest[end:] for end in range(len(rest) + 1) for piece in pieces if piece.fullmatch(rest[:end])
        }
    problems = []
    text = f"{DECLARED}\n{words('Entity=' + note)}\n"
    list(entity_notes.read(named(text), problems.append))
    assert any("cannot be understood" in problem.message for problem in problems) == ("" not in rests)


REAL = f"""\
# newdoc id = a
# global.Entity = GRP-etype-infstat
{words("Entity=(3-abstract-new|MSeg=In-sights", "_", "Entity=(4-abstract-new(5-object-new)|X=<w>", "Entity=4)3)")}
1-2\tw\t_\t_\t_\t_\t_\t_\t_\t_
{words("Entity=(3-place-giv)", "Entity=(6-time", "Entity=6)")}
""".encode()


@settings(max_examples=4 * settings().max_examples)
@given(mutations, st.booleans())
def test_changed_bytes_parse_or_give_file_and_line(changes, doubled):
    content = mutated(REAL * (1 + doubled), changes)
    found, error = attempt(read, content)
    problems = []
    kept = list(entity_notes.read(named(content), problems.append))
    faults = [problem for problem in problems if not problem.repaired]
    assert str(error) == (str(faults[0]) if faults else "None")
    if error:
        assert str(error).startswith("a.conllu:")
        assert error.line is not None or not content.strip()
        return
    assert kept == found
    for sentence in found:
        assert sentence.annotated(entities=sentence.entities).entities == sentence.entities
