"""Corpora in folders: fetched once, recorded, and never overwritten."""

import errno
import fcntl
import hashlib
import json
import os
from dataclasses import replace
from datetime import date

import pytest
from tests.data.corpora.local_server import parts, serving, status, whole

from strukt.data.corpora.obtain import RECORD, obtain
from strukt.data.corpora.sources import Corpus, File
from strukt.data.files.digests import Digest
from strukt.errors import DataError

TEXT, NOTES = b"it\nworks\n", b"License: CC BY 4.0\nmore\n"


def digest_of(content):
    return Digest(hashlib.sha256(content).hexdigest(), len(content))


def noted(content):
    return {"sha256": digest_of(content).sha256, "bytes": len(content)}


def upper(folder):
    """Makes a file of the lines in capitals, and one of their number."""
    rows = (folder / "source" / "text.txt").read_text().split()
    yield "upper.txt", (row.upper() for row in rows)
    yield "count.txt", [str(len(rows))]


@pytest.fixture
def site(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    with serving() as found:
        found.add("/text.txt", whole(TEXT))
        found.add("/README.md", whole(NOTES))
        yield found


@pytest.fixture
def corpus(site):
    return Corpus(
        name="tiny",
        home="http://tiny",
        version="1",
        licence=None,
        citation="Nobody (2026)",
        files=(
            File(site.address + "/README.md", "README.md"),
            File(site.address + "/LICENSE.txt", "LICENSE.txt", is_optional=True),
            File(site.address + "/text.txt", "source/text.txt", digest_of(TEXT)),
        ),
        commands=("lm --train {}/upper.txt --dev {}/upper.txt",),
        conversion=upper,
    )


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "deep" / "tiny"


def content(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def get(corpus, folder):
    return obtain(corpus, folder, wait=lambda *_: None)


def test_a_corpus_is_fetched_made_and_recorded(corpus, site, folder):
    record = get(corpus, folder)
    assert record == {
        "name": "tiny",
        "version": "1",
        "licence": "CC BY 4.0",
        "home": "http://tiny",
        "citation": "Nobody (2026)",
        "fetched": date.today().isoformat(),
        "files": {
            "README.md": {"address": f"{site.address}/README.md", **noted(NOTES)},
            "LICENSE.txt": None,
            "source/text.txt": {"address": f"{site.address}/text.txt", **noted(TEXT)},
        },
        "made": {"upper.txt": noted(b"IT\nWORKS\n"), "count.txt": noted(b"2\n")},
    }
    found = content(folder)
    assert json.loads(found.pop(RECORD)) == record
    assert found == {
        "README.md": NOTES,
        "source/text.txt": TEXT,
        "upper.txt": b"IT\nWORKS\n",
        "count.txt": b"2\n",
    }


def test_what_is_there_needs_no_network_and_no_writing(corpus, site, folder):
    record = get(corpus, folder)
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    site.requests.clear()
    assert get(corpus, folder) == record
    assert site.requests == []
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


def test_what_was_not_reached_is_fetched_by_the_next_call(corpus, site, folder):
    site.add("/text.txt", parts(TEXT, until=3))
    with pytest.raises(DataError, match=r"broke off after 3 of 9 bytes, 5 times in a row"):
        get(corpus, folder)
    assert not (folder / "upper.txt").exists()
    site.requests.clear()
    site.add("/text.txt", parts(TEXT))
    get(corpus, folder)
    assert site.requests == [("/text.txt", "bytes=3-")]
    assert (folder / "upper.txt").read_bytes() == b"IT\nWORKS\n"


@pytest.mark.parametrize("name", ["README.md", "source/text.txt", "upper.txt"])
def test_a_changed_file_is_not_touched(name, corpus, site, folder):
    get(corpus, folder)
    (folder / name).write_bytes(b"mine")
    site.requests.clear()
    with pytest.raises(
        DataError, match=rf"{name}: has sha256 .*; expected sha256 .*; move it away to (fetch|convert)"
    ):
        get(corpus, folder)
    assert (folder / name).read_bytes() == b"mine"
    assert site.requests == []


@pytest.mark.parametrize("name", ["source/text.txt", "upper.txt"])
def test_a_deleted_file_comes_back(name, corpus, site, folder):
    record = get(corpus, folder)
    before = content(folder)
    (folder / name).unlink()
    site.requests.clear()
    assert get(corpus, folder) == record
    assert content(folder) == before
    assert len(site.requests) == (name == "source/text.txt")


def test_the_first_download_of_an_unknown_file_decides(corpus, site, folder):
    get(corpus, folder)
    (folder / "README.md").unlink()
    site.add("/README.md", whole(b"License: CC BY 4.1\nmore\n"))
    expected = f"sent another file, with sha256 .*; expected sha256 {digest_of(NOTES).sha256}"
    with pytest.raises(DataError, match=expected):
        get(corpus, folder)
    assert not (folder / "README.md").exists()


def test_a_file_may_be_put_there_by_hand(corpus, site, folder):
    site.add("/text.txt", status(403))
    with pytest.raises(DataError, match="the server says 403"):
        get(corpus, folder)
    (folder / "source" / "text.txt").write_bytes(TEXT)
    assert get(corpus, folder)["files"]["source/text.txt"]["sha256"] == digest_of(TEXT).sha256


def test_made_files_are_compared_with_what_they_should_be(corpus, folder, monkeypatch):
    expected = {"tiny/upper.txt": digest_of(b"IT\nWORKS\n"), "tiny/count.txt": digest_of(b"3\n")}
    monkeypatch.setattr("strukt.data.corpora.obtain.checksums", lambda: expected)
    with pytest.raises(
        DataError, match=r"count.txt: would have sha256 .* \(2 bytes\); expected .*differ from the published"
    ):
        get(corpus, folder)
    assert not (folder / "count.txt").exists()


def test_other_files_are_left_alone(corpus, site, folder):
    folder.mkdir(parents=True)
    (folder / "README.md").write_text("of another project")
    with pytest.raises(DataError, match=r"tiny: is not empty, and has no SOURCE.json; give another folder"):
        get(corpus, folder)
    assert content(folder) == {"README.md": b"of another project"}
    assert site.requests == []


@pytest.mark.parametrize("change", [{"version": "2"}, {"name": "small"}])
def test_another_corpus_or_version_needs_another_folder(change, corpus, folder):
    get(corpus, folder)
    before = content(folder)
    with pytest.raises(DataError, match=r"the folder holds tiny, 1; give another one for (tiny, 2|small, 1)"):
        get(replace(corpus, **change), folder)
    assert content(folder) == before


@pytest.mark.parametrize(
    "text", ["", "{}", '{"name": "tiny", "version": "1", "files": [], "made": {}}', "\xff"]
)
def test_a_record_that_is_none(text, corpus, folder):
    folder.mkdir(parents=True)
    (folder / RECORD).write_text(text, encoding="latin1")
    with pytest.raises(DataError, match=r"SOURCE.json: is not the record of a corpus; give another folder"):
        get(corpus, folder)


def test_a_record_with_broken_digests(corpus, folder):
    get(corpus, folder)
    found = json.loads((folder / RECORD).read_text())
    found["files"]["README.md"] = {"sha256": "0"}
    (folder / RECORD).write_text(json.dumps(found))
    with pytest.raises(DataError, match=r"SOURCE.json: is not the record of a corpus"):
        get(corpus, folder)


def test_a_file_system_without_locks_is_named(corpus, site, folder, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(DataError, match=r"cannot be locked \(No locks available\); choose a folder on"):
        get(corpus, folder)
    assert site.requests == []


def test_two_processes_do_not_fetch_into_one_folder(corpus, site, folder):
    folder.mkdir(parents=True)
    handle = os.open(folder, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        with pytest.raises(DataError, match="another process is fetching into this folder; wait for it"):
            get(corpus, folder)
    finally:
        os.close(handle)
    assert site.requests == []
    assert get(corpus, folder)["name"] == "tiny"


def test_a_file_in_place_of_the_folder(corpus, folder):
    folder.parent.mkdir()
    folder.write_text("")
    with pytest.raises(DataError, match="tiny: cannot be written: File exists"):
        get(corpus, folder)


def test_a_licence_that_is_not_stated(corpus, site, folder):
    site.add("/README.md", whole(b"License:\nbeautiful\n"))
    assert get(corpus, folder)["licence"] == "not stated in README.md"
