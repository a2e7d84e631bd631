"""The launcher: what it loads, what it prints, and how it ends."""

import os
import signal
import subprocess
import sys

import pytest
import torch

from strukt import errors
from strukt.cli import console, main
from strukt.tasks import TASKS

HEAVY = {
    "torch",
    "numpy",
    "scipy",
    "numba",
    "lightning",
    "rich",
    "transformers",
    "safetensors",
    "tensorboard",
}
LISTING = "print('LOADED', *{name.partition('.')[0] for name in sys.modules})"


def strukt(*arguments: str, **options) -> subprocess.CompletedProcess:
    program = [sys.executable, "-m", "strukt", *arguments]
    return subprocess.run(program, capture_output=True, text=True, timeout=120, **options)


def loaded_by(*commands: list[str]) -> set[str]:
    """The packages that commands load in a process of their own."""
    program = f"""
import sys
from strukt.cli.main import main
for arguments in {list(commands)}:
    try:
        main(arguments)
    except SystemExit:
        pass
{LISTING}"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120
    )
    return set(done.stdout.split("LOADED")[1].split())


def test_help_and_the_list_of_tasks_load_nothing_heavy():
    assert not loaded_by(["--help"], ["train", "--help"]) & (HEAVY | {"jsonargparse", "yaml"})


def test_help_of_training_loads_no_pytorch():
    loaded = loaded_by(*(["train", task, "--help"] for task in TASKS))
    assert "jsonargparse" in loaded
    assert not loaded & HEAVY


@pytest.mark.parametrize("command", sorted(main.COMMANDS))
def test_every_command_has_help(command, capsys):
    with pytest.raises(SystemExit) as ended:
        sys.exit(main.main([command, "--help"]))
    assert not ended.value.code
    out, err = capsys.readouterr()
    assert out.startswith(f"usage: strukt {command}")
    assert err == ""


def test_help_names_every_command():
    text = strukt("--help").stdout
    assert all(f"  {command} " in text for command in main.COMMANDS)
    assert strukt().stdout == strukt("help").stdout == text
    assert strukt("--version").stdout.startswith("strukt 0.")


@pytest.mark.parametrize(
    ("command", "said"),
    [("pedict", "did you mean 'predict'?"), ("xyzzy", f"known are: {', '.join(main.COMMANDS)}")],
)
def test_the_nearest_command_is_suggested_and_all_are_named_where_none_is_near(command, said, capsys):
    assert main.main([command]) == 2
    assert capsys.readouterr().err == f"error: unknown command '{command}'; {said}\n"


@pytest.fixture
def failing(monkeypatch):
    """Makes the launcher meet an exception."""

    def install(exception):
        def dispatch(arguments):
            raise exception

        monkeypatch.setattr(main, "dispatch", dispatch)

    return install


def test_an_expected_error_is_one_line_without_traceback(failing, capsys):
    failing(errors.DataError("expected 10 columns,\n found 9", "train.conllu", 12))
    assert main.main([]) == 2
    assert capsys.readouterr().err == "error: train.conllu:12: expected 10 columns, found 9\n"


def test_an_interrupt_ends_quietly(failing, capsys):
    failing(KeyboardInterrupt())
    assert main.main([]) == 130
    assert capsys.readouterr() == ("", "")


def test_warnings_are_one_line(capsys, monkeypatch):
    import warnings

    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    monkeypatch.setattr(main, "dispatch", lambda arguments: warnings.warn("repaired\nit", stacklevel=1) or 0)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        main.main([])
    assert capsys.readouterr().err == "warning: repaired it\n"


def test_a_reader_that_goes_away_ends_it_quietly():
    program = "from strukt.cli import main; main.help_text = lambda: 'x' * 10**7; exit(main.main([]))"
    writer = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    writer.stdout.read(10)
    writer.stdout.close()
    assert writer.wait(timeout=60) == 0
    assert writer.stderr.read() == b""
    writer.stderr.close()


def test_control_c_in_a_process_ends_with_130():
    program = (
        "import sys, time; from strukt.cli import main\n"
        "def wait(arguments): print('ready', flush=True); time.sleep(60)\n"
        "main.dispatch = wait; sys.exit(main.main([]))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60) == (b"", b"")
    assert process.returncode == 130


@pytest.mark.parametrize("count", [1, 2])  # of the process, and again of its group
def test_sigterm_in_a_process_ends_with_143_and_removes_unfinished_files(tmp_path, count):
    program = (
        "import sys, time; from strukt.cli import main; from strukt.data.files import atomic_write\n"
        "def wait(arguments):\n"
        "  with atomic_write('out.txt') as stream:\n"
        "    try: print('ready', flush=True); time.sleep(60)\n"
        "    finally: time.sleep(0.5)  # so that the second signal arrives before the command has ended\n"
        "main.dispatch = wait; sys.exit(main.main([]))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path
    )
    assert process.stdout.readline() == b"ready\n"
    for _ in range(count):
        process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=60) == (b"", b"stopped by SIGTERM\n")
    assert process.returncode == 143
    assert list(tmp_path.iterdir()) == []


def test_a_program_that_ignores_sigterm_goes_on_ignoring_it(monkeypatch):
    monkeypatch.setattr(main, "dispatch", lambda _: signal.raise_signal(signal.SIGTERM) or 0)
    former = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        assert main.main([]) == 0
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, former)


class Terminal:
    def __init__(self, is_terminal: bool) -> None:
        self.is_terminal = is_terminal

    def isatty(self) -> bool:
        return self.is_terminal


@pytest.mark.parametrize(
    ("is_terminal", "environment", "expected"),
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"NO_COLOR": ""}, True),
        (True, {"TERM": "dumb"}, False),
    ],
)
def test_colour_only_where_it_is_wanted(monkeypatch, is_terminal, environment, expected):
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert console.use_colour(Terminal(is_terminal)) is expected


@pytest.mark.parametrize(
    ("error", "end"),
    [
        (MemoryError(), "out of memory\n"),
        (MemoryError("Unable to allocate 9 GiB"), "allocate 9 GiB\n"),
        (torch.OutOfMemoryError("Out of memory. Tried 9 GiB.\nOn GPU 0."), "Out of memory. Tried 9 GiB.\n"),
    ],
)
def test_memory_that_does_not_suffice_is_said(error, end, monkeypatch, capsys):
    def dispatch(_):
        raise error

    monkeypatch.setattr(main, "dispatch", dispatch)
    assert main.main(["predict", "model"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: out of memory")
    assert said.endswith(end)


def test_memory_that_pytorch_does_not_get_is_said(monkeypatch, capsys):
    monkeypatch.setattr(main, "dispatch", lambda _: torch.empty(1 << 55))
    assert main.main(["train", "tag"]) == 2
    assert capsys.readouterr().err.startswith("error: out of memory: ")


def test_errors_of_the_network_are_not_blamed_on_standard_output(monkeypatch, capsys):
    def dispatch(_):
        raise OSError("we could not connect")

    monkeypatch.setattr(main, "dispatch", dispatch)
    assert main.main([]) == 2
    assert capsys.readouterr().err == "error: we could not connect\n"


def test_other_errors_keep_their_traceback(monkeypatch):
    monkeypatch.setattr(main, "dispatch", lambda _: torch.zeros(2) + torch.zeros(3))
    with pytest.raises(RuntimeError, match="must match"):
        main.main(["train", "tag"])


def test_there_is_no_colour_in_a_pipe():
    assert "\x1b" not in strukt("nothing", env={**os.environ, "TERM": "xterm-256color"}).stderr
