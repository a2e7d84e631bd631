"""`strukt serve` from the command line."""

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import contextmanager

import pytest
from tests.serve import models
from tests.serve.models import TEXT
from tests.serve.server import ask, wait_until_ready

from strukt.cli.main import main
from strukt.cli.serve import _listening, _names
from strukt.train import saved_model


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("models")
    for name, model in (("tagger", models.tagger()), ("parser", models.parser())):
        saved_model.save(model, root / name)
    return root


@contextmanager
def serving(*arguments, **options):
    process = subprocess.Popen(
        [sys.executable, "-m", "strukt", "serve", *arguments], stderr=subprocess.PIPE, text=True, **options
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def address_of(process):
    lines = []
    for line in process.stderr:
        lines.append(line)
        if found := re.search(r"at (http://\S+)", line):
            return found.group(1), "".join(lines)
    pytest.fail("".join(lines))


def test_models_are_served_until_control_c(folders):
    with serving(str(folders / "tagger"), str(folders / "parser"), "--port", "0") as process:
        address, said = address_of(process)
        assert said == f"serving tagger, parser at {address}\n"
        assert address.startswith("http://127.0.0.1:")
        wait_until_ready(address)
        answer = ask(address, texts=[TEXT], model="parser")
        assert answer["answers"][0]["words"] == TEXT.split()
        with pytest.raises(urllib.error.HTTPError, match="421"):
            urllib.request.urlopen(urllib.request.Request(address, headers={"Host": "rebound.example"}))
        with urllib.request.urlopen(address) as page:
            assert b"<title>strukt</title>" in page.read()
            assert "server" not in {name.lower() for name in page.headers}
        process.send_signal(signal.SIGINT)
        assert process.wait(30) in (0, 130)
        log = process.stderr.read()
        assert re.search(r"^\d{4}-\d\d-\d\d \S+ POST /predict 200 \d+\.\d ms parser$", log, re.MULTILINE)
        assert "Traceback" not in log
        assert TEXT not in log


@pytest.mark.slow  # a server for one line
def test_a_host_that_others_reach_is_warned_of(folders):
    with serving(str(folders / "tagger"), "--host", "0.0.0.0", "--port", "0") as process:
        _, said = address_of(process)
        assert re.search("warning: 0.0.0.0 is open to other machines, without encryption", said)


def test_a_port_in_use_is_told(folders, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["serve", str(folders / "tagger"), "--port", port]) == 2
    assert f"cannot listen on 127.0.0.1, port {port}" in capsys.readouterr().err


def test_answers_do_not_wait_for_acknowledgements():
    with _listening("127.0.0.1", 0) as listening, socket.create_connection(listening.getsockname()):
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_models_have_the_names_of_their_links(tmp_path, monkeypatch):
    """As in a release, where `parser` is a link to the newest of several folders."""
    (tmp_path / "releases" / "7").mkdir(parents=True)
    (tmp_path / "parser").symlink_to(tmp_path / "releases" / "7")
    monkeypatch.chdir(tmp_path / "releases")
    assert list(_names(["../parser", "7/", "."])) == ["parser", "7", "releases"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "nowhere: there is no such model folder"),
        (["a/tagger", "b/tagger"], "a/tagger and b/tagger are both named tagger"),
        (["tagger", "--threads", "0"], "--threads is 0; expected 1 or more"),
        (["tagger", "--queue", "-1"], "--queue is -1; expected 0 or more"),
        (["tagger", "--seconds", "nan"], "--seconds is nan; expected a number above 0, and finite"),
        (["tagger", "--megabytes", "inf"], "--megabytes is inf; expected a number above 0, and finite"),
        (["tagger", "--host", "é..b", "--port", "0"], "cannot listen on é..b, port 0: this is not a host name"),
        (["tagger", "--port", "70000"], "--port is 70000; expected 0 to 65535"),
        (["tagger", "--prot", "1"], "unknown option '--prot'; did you mean '--port'?"),
    ],
)
def test_what_cannot_be_served_is_told(folders, arguments, message, capsys, monkeypatch):
    monkeypatch.chdir(folders)
    assert main(["serve", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_without_the_extra_the_way_to_it_is_told(folders, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["serve", str(folders / "tagger")]) == 2
    assert 'pip install "strukt[serve]"' in capsys.readouterr().err


@pytest.mark.slow
def test_with_an_empty_cache_the_first_answers_come_before_any_kernel_is_compiled(tmp_path):
    """Of trees without a reference for their mode, and of the view that takes longest to compile."""
    saved_model.save(models.parser(), tmp_path / "parser")
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    with serving(str(tmp_path / "parser"), "--port", "0", "--seconds", "60", env=environment) as process:
        address, _ = address_of(process)
        wait_until_ready(address, "/health")
        for view in ("mode", "sparsemap"):
            (answer,) = ask(address, texts=[TEXT], view=view)["answers"]
            assert answer["words"] == TEXT.split()
        with pytest.raises(urllib.error.HTTPError, match="503"):
            urllib.request.urlopen(f"{address}/ready")
