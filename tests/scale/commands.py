"""What tests of sharded prediction ask of the command line."""

from pathlib import Path

from strukt.cli.main import main


def predict(*arguments: object) -> int:
    return main(["predict", *map(str, arguments)])


def whole(model: str, path: Path, *arguments: object) -> bytes:
    """What is written for a file that is not cut."""
    output = path.with_name("whole")
    assert predict(model, path, "-o", output, *arguments) == 0
    return output.read_bytes()


def parts(folder: Path) -> list[Path]:
    return sorted(folder.glob("part-*"))


def together(folder: Path) -> bytes:
    """What `cat folder/part-*` writes."""
    return b"".join(path.read_bytes() for path in parts(folder))


def text(path: Path, words: list[list[str]]) -> Path:
    path.write_text("".join(" ".join(forms) + "\n" for forms in words), encoding="utf-8")
    return path
