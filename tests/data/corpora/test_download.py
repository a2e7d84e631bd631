"""Downloads from a server that breaks off, lies about lengths, sends wrong files, and sometimes behaves."""

import hashlib
import json
import random
import signal
import subprocess
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.data.corpora.local_server import (
    announcing,
    chunked,
    parts,
    pausing,
    resetting,
    serving,
    status,
    whole,
)  # fmt: skip

from strukt.data.corpora import download
from strukt.data.corpora.download import NotThereError, fetch
from strukt.data.files.digests import Digest
from strukt.errors import DataError

CONTENT = random.Random(1).randbytes(300_000)
OTHER = random.Random(2).randbytes(300_000)
DIGEST = Digest(hashlib.sha256(CONTENT).hexdigest(), len(CONTENT))


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def site():
    with serving() as found:
        yield found


@pytest.fixture
def waits():
    return []


@pytest.fixture
def get(site, waits, tmp_path):
    """Fetches what the server answers into a folder; the waits are noted and not waited."""

    def call(*answers, expected=DIGEST, **options):
        address = site.add("/corpus.txt", *answers)
        return fetch(
            address, tmp_path / "corpus.txt", expected, wait=lambda *said: waits.append(said), **options
        )

    return call


def content(folder):
    """The files of a folder; of a good end there is one, and nothing beside it."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_what_is_there_is_not_asked_for(get, site, tmp_path):
    (tmp_path / "corpus.txt").write_bytes(CONTENT)
    assert get() == DIGEST
    assert site.requests == []


def test_what_is_there_and_another_file_stays(get, site, tmp_path):
    (tmp_path / "corpus.txt").write_bytes(b"mine")
    with pytest.raises(
        DataError, match=f"has sha256 .* \\(4 bytes\\); expected sha256 {DIGEST.sha256}.*move it away"
    ):
        get()
    assert (content(tmp_path), site.requests) == ({"corpus.txt": b"mine"}, [])


@pytest.mark.parametrize("expected", [DIGEST, None])
def test_a_connection_that_breaks_off_is_resumed(expected, get, site, waits, tmp_path):
    get(parts(CONTENT, until=100_000), parts(CONTENT, until=250_000), parts(CONTENT), expected=expected)
    assert content(tmp_path) == {"corpus.txt": CONTENT}
    assert site.ranges() == [None, "bytes=100000-", "bytes=250000-"]
    assert waits == [
        (1, f"the connection broke off after {size} of 300,000 bytes") for size in ("100,000", "250,000")
    ]


def test_a_connection_that_is_torn_down_is_resumed(get, site, waits, tmp_path):
    get(resetting(CONTENT, 200_000), parts(CONTENT))
    assert content(tmp_path) == {"corpus.txt": CONTENT}
    assert len(site.requests) == 2
    assert len(waits) == 1


def test_the_next_call_goes_on(get, site, waits, tmp_path):
    with pytest.raises(
        DataError, match="after 100,000 of 300,000 bytes, 5 times in a row; run the same command"
    ):
        get(parts(CONTENT, until=100_000), parts(CONTENT, until=100_000))
    assert [seconds for seconds, _ in waits] == [1, 2, 4, 8]
    assert content(tmp_path)["corpus.txt.part"] == CONTENT[:100_000]
    assert not (tmp_path / "corpus.txt").exists()
    site.requests.clear()
    get(parts(CONTENT))
    assert site.ranges() == ["bytes=100000-"]
    assert content(tmp_path) == {"corpus.txt": CONTENT}


def test_a_server_without_parts_sends_the_whole_again(get, site, tmp_path):
    get(announcing(len(CONTENT), CONTENT[:1000]), whole(CONTENT))
    assert site.ranges() == [None, "bytes=1000-"]
    assert content(tmp_path) == {"corpus.txt": CONTENT}


@pytest.mark.parametrize("tag", [None, 'W/"1"'])
def test_without_strong_validator_and_digest_nothing_is_resumed(tag, get, site, tmp_path):
    get(parts(CONTENT, tag=tag, until=1000), parts(CONTENT, tag=tag), expected=None)
    assert site.ranges() == [None, None]
    assert content(tmp_path) == {"corpus.txt": CONTENT}


def test_a_date_is_a_validator(get, site):
    date, conditions = "Mon, 23 Nov 2026 10:00:00 GMT", []

    def rest(handler):
        conditions.append(handler.headers["If-Range"])
        whole(CONTENT)(handler)

    get(pausing(CONTENT, 1000, 0, Last_Modified=date), rest, expected=None)
    assert conditions == [date]


def test_a_file_that_changed_between_tries_is_sent_whole(get, site, tmp_path):
    get(parts(OTHER, tag='"old"', until=1000), parts(CONTENT, tag='"new"'), expected=None)
    assert site.ranges() == [None, "bytes=1000-"]
    assert content(tmp_path) == {"corpus.txt": CONTENT}


@pytest.mark.parametrize(
    "note", [None, "[]", "{", r'{"address": "http://elsewhere", "validator": "\"1\""}']
)
def test_a_part_without_a_note_or_of_another_address_is_dropped(note, get, site, tmp_path):
    (tmp_path / "corpus.txt.part").write_bytes(OTHER[:1000])
    if note is not None:
        (tmp_path / "corpus.txt.part.json").write_text(note)
    get(parts(CONTENT))
    assert site.ranges() == [None]
    assert content(tmp_path) == {"corpus.txt": CONTENT}


def begin(site, tmp_path, beginning, validator=None):
    (tmp_path / "corpus.txt.part").write_bytes(beginning)
    note = {"address": site.address + "/corpus.txt", "validator": validator}
    (tmp_path / "corpus.txt.part.json").write_text(json.dumps(note))


@pytest.mark.parametrize(
    ("beginning", "validator", "expected", "ranges"),
    [
        pytest.param(OTHER[:1000], None, DIGEST, ["bytes=1000-", None], id="wrong"),
        pytest.param(CONTENT, None, DIGEST, ["bytes=300000-"], id="whole"),
        pytest.param(CONTENT + b"more", '"1"', None, ["bytes=300004-", None], id="longer"),
    ],
)
def test_a_part_that_cannot_be_continued_is_taken_or_dropped(
    beginning, validator, expected, ranges, get, site, tmp_path
):
    begin(site, tmp_path, beginning, validator)
    get(parts(CONTENT), expected=expected)
    assert site.ranges() == ranges
    assert content(tmp_path) == {"corpus.txt": CONTENT}


def test_another_part_than_the_one_asked_for_is_refused(get, site, tmp_path):
    def shifted(handler):
        handler.send_response(206)
        handler.send_header("Content-Range", f"bytes 900-{len(CONTENT) - 1}/{len(CONTENT)}")
        handler.end_headers()
        handler.wfile.write(CONTENT[900:])

    begin(site, tmp_path, CONTENT[:1000], '"1"')
    get(shifted, parts(CONTENT), expected=None)
    assert site.ranges() == ["bytes=1000-", None]
    assert content(tmp_path) == {"corpus.txt": CONTENT}


def test_a_length_announced_too_large(get, site, waits, tmp_path):
    with pytest.raises(DataError, match="300,000 of 300,500 bytes, 5 times"):
        get(announcing(len(CONTENT) + 500, CONTENT), expected=None)
    assert not (tmp_path / "corpus.txt").exists()
    assert len(site.requests) == 5


def test_a_length_announced_too_small(get, site, tmp_path):
    with pytest.raises(DataError, match="the server announces 299,000 bytes; expected 300,000"):
        get(announcing(len(CONTENT) - 1000, CONTENT))
    assert content(tmp_path) == {}
    unsized = Digest(DIGEST.sha256)
    with pytest.raises(
        DataError, match=rf"another file, with sha256 .* \(299,000 bytes\); expected sha256 {DIGEST.sha256}"
    ):
        get(announcing(len(CONTENT) - 1000, CONTENT), expected=unsized)
    assert content(tmp_path) == {}


def test_a_wrong_file_is_not_put_in_place(get, site, waits, tmp_path):
    wrong = hashlib.sha256(OTHER).hexdigest()
    with pytest.raises(DataError) as caught:
        get(whole(OTHER))
    sums = f"with sha256 {wrong} (300,000 bytes); expected {DIGEST}"
    assert str(caught.value) == f"{site.address}/corpus.txt: the server sent another file, {sums}"
    assert (content(tmp_path), len(site.requests), waits) == ({}, 1, [])


def test_a_file_in_chunks_arrives(get, site, waits, tmp_path):
    assert get(chunked(CONTENT), expected=None) == DIGEST
    assert content(tmp_path) == {"corpus.txt": CONTENT}
    assert (site.ranges(), waits) == ([None], [])


def test_chunks_that_do_not_end_are_broken_off(get, site, tmp_path):
    get(chunked(CONTENT[:5000], ends=False), parts(CONTENT))
    assert site.ranges() == [None, "bytes=5000-"]
    assert content(tmp_path) == {"corpus.txt": CONTENT}


def test_no_more_is_read_than_a_file_can_have(get, tmp_path, monkeypatch):
    sizes = []
    with pytest.raises(DataError, match="another file"):
        get(chunked(CONTENT * 20, size=10_000), progress=lambda size, total: sizes.append(size))
    assert max(sizes) <= len(CONTENT) + (1 << 16)
    assert content(tmp_path) == {}


@pytest.mark.parametrize(
    ("code", "kind"), [(404, NotThereError), (410, NotThereError), (403, DataError)]
)
def test_a_refusal_is_final(code, kind, get, site, tmp_path):
    with pytest.raises(kind, match=f"/corpus.txt: the server says {code} ") as caught:
        get(status(code), whole(CONTENT))
    assert isinstance(caught.value, NotThereError) is (kind is NotThereError)
    assert (len(site.requests), content(tmp_path)) == (1, {})


def test_a_server_in_trouble_is_asked_again(get, site, waits, tmp_path):
    get(status(500), status(503), status(429), whole(CONTENT))
    assert content(tmp_path) == {"corpus.txt": CONTENT}
    assert [seconds for seconds, _ in waits] == [1, 2, 4]


def test_a_server_in_trouble_is_given_up(get, site, waits, tmp_path):
    with pytest.raises(DataError, match="the server says 500 Internal Server Error, 5 times in a row"):
        get(status(500))
    assert [seconds for seconds, _ in waits] == [1, 2, 4, 8]
    assert content(tmp_path) == {}


def test_redirects_are_followed(get, site, tmp_path):
    site.add("/elsewhere", parts(CONTENT))
    get(status(302, Location="/elsewhere"))
    assert content(tmp_path) == {"corpus.txt": CONTENT}


@pytest.mark.parametrize("location", ["file:///etc/passwd", "ftp://127.0.0.1/corpus.txt"])
def test_redirects_lead_to_web_addresses_only(location, get, site, tmp_path):
    with pytest.raises(DataError, match=r"/corpus\.txt: the server "):
        get(status(302, Location=location), expected=None)
    assert (content(tmp_path), len(site.requests)) == ({}, 1)


@pytest.mark.parametrize("address", ["file:///etc/passwd", "corpus.txt"])
def test_addresses_are_of_the_web(address, tmp_path):
    with pytest.raises(DataError, match="is not an address to fetch from; give one that begins with http"):
        fetch(address, tmp_path / "corpus.txt")
    assert content(tmp_path) == {}


def test_redirects_do_not_lead_from_https_to_http():
    request = download.Request("https://example.org/corpus.txt")
    with pytest.raises(DataError, match=r"redirects to http://example\.org/; expected https"):
        download._Redirects().redirect_request(request, None, 302, "Found", {}, "http://example.org/")


def test_redirects_in_a_circle_end(get, site, tmp_path):
    with pytest.raises(DataError, match="the server says 302"):
        get(status(302, Location="/corpus.txt"))


def test_nobody_there(tmp_path, waits):
    with serving() as site:
        address = site.address + "/corpus.txt"
    with pytest.raises(DataError, match="the connection failed: Connection refused, 5 times in a row"):
        fetch(address, tmp_path / "corpus.txt", wait=lambda *said: waits.append(said))
    assert [seconds for seconds, _ in waits] == [1, 2, 4, 8]


def test_a_server_that_falls_silent_is_left(get, site, waits, tmp_path, monkeypatch):
    monkeypatch.setattr(download, "TIMEOUT", 0.2)
    get(pausing(CONTENT, 1000, 0.5), parts(CONTENT))
    assert content(tmp_path) == {"corpus.txt": CONTENT}
    assert site.ranges()[1] == "bytes=1000-"


def test_progress_is_told(get, site, tmp_path):
    told = []
    get(parts(CONTENT, until=100_000), parts(CONTENT), progress=lambda *said: told.append(said))
    sizes = [size for size, _ in told]
    assert sizes == sorted(sizes)
    assert told[-1] == (300_000, 300_000)


def test_a_full_disk_is_said_and_what_had_arrived_kept(get, site, tmp_path):
    address, path = site.add("/corpus.txt", parts(CONTENT)), str(tmp_path / "corpus.txt")
    program = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (123_456, 123_456))\n"
        f"from strukt.data.corpora.download import fetch; fetch({address!r}, {path!r})"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert f"DataError: {path}.part: cannot be written: File too large" in done.stderr
    assert (tmp_path / "corpus.txt.part").read_bytes() == CONTENT[:123_456]
    get(parts(CONTENT))
    assert site.ranges() == [None, "bytes=123456-"]
    assert content(tmp_path) == {"corpus.txt": CONTENT}


def test_a_folder_that_is_not_there_is_said(site, tmp_path):
    address = site.add("/corpus.txt", whole(CONTENT))
    with pytest.raises(DataError, match="cannot be written: No such file or directory"):
        fetch(address, tmp_path / "nowhere" / "corpus.txt")


def test_a_killed_process_leaves_what_had_arrived(get, site, tmp_path):
    address = site.add("/corpus.txt", pausing(CONTENT, 200_000, 3, ETag='"1"'))
    path = str(tmp_path / "corpus.txt")
    program = f"from strukt.data.corpora.download import fetch; fetch({address!r}, {path!r})"
    process = subprocess.Popen([sys.executable, "-c", program])
    part = tmp_path / "corpus.txt.part"
    while not part.exists() or part.stat().st_size < 100_000:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    arrived = part.stat().st_size
    get(parts(CONTENT))
    assert site.ranges() == [None, f"bytes={arrived}-"]
    assert content(tmp_path) == {"corpus.txt": CONTENT}


@settings(max_examples=40)
@given(st.lists(st.one_of(st.integers(0, 999), st.sampled_from([500, 503])), max_size=12), st.data())
def test_whatever_happens_the_file_is_whole_or_not_there(tmp_path_factory, ends, data):
    text = CONTENT[:1000]
    expected = data.draw(st.sampled_from([None, Digest(hashlib.sha256(text).hexdigest(), len(text))]))
    tag = data.draw(st.sampled_from([None, '"1"']))
    folder = tmp_path_factory.mktemp("any")
    failed = ""
    with serving() as site:
        bad = [status(end) if end in (500, 503) else parts(text, tag, end) for end in ends]
        address = site.add("/corpus.txt", *bad, parts(text, tag))
        try:
            fetch(address, folder / "corpus.txt", expected, wait=lambda *_: None)
        except DataError as error:
            failed = str(error)
    if failed:
        assert "5 times in a row" in failed
        assert not (folder / "corpus.txt").exists()
    else:
        assert content(folder) == {"corpus.txt": text}
