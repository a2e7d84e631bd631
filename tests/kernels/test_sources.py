"""A kernel is compiled again when anything changes that it is made from, and only then."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import strukt
from strukt.kernels import dispatch, sources

HELPER = "from strukt.kernels.jit import inner\n\n\n@inner\ndef number():\n    return {}\n"

KERNEL = """
from strukt.kernels.helper import number
from strukt.kernels.jit import kernel


@kernel
def ask():
    return number()


print(ask(), sum(ask.stats.cache_hits.values()))
"""


MOVED = """
from strukt.kernels.{} import Pair
from strukt.kernels.jit import kernel


@kernel
def ask(pair):
    return pair.left + pair.right


print(ask(Pair(1, 2)), sum(ask.stats.cache_hits.values()))
"""

PAIR = "from typing import NamedTuple\n\n\nclass Pair(NamedTuple):\n    left: int\n    right: int\n"

COMPILED = pytest.mark.skipif(
    dispatch.backends()["cpu"] != "available", reason=f"no compiled kernels: {dispatch.backends()['cpu']}"
)


@pytest.fixture
def package(tmp_path):
    """A copy of the package, to be edited."""
    shutil.copytree(
        Path(strukt.__file__).parent, tmp_path / "strukt", ignore=shutil.ignore_patterns("__pycache__")
    )
    return tmp_path / "strukt"


def printed(package):
    """What its module ``kernels/user.py`` prints in another process, with a cache of the copy's own."""
    folder = package.parent
    environment = {**os.environ, "PYTHONPATH": str(folder), "NUMBA_CACHE_DIR": str(folder / "cache")}
    command = [sys.executable, "-c", "import strukt.kernels.user"]
    result = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=True)
    return result.stdout.split()


@COMPILED
@pytest.mark.slow
def test_a_kernel_whose_helper_was_edited_is_compiled_again(package):
    (package / "kernels/user.py").write_text(KERNEL)

    def answer(number):
        (package / "kernels/helper.py").write_text(HELPER.format(number))
        return printed(package)

    assert answer(1) == ["1", "0"]
    assert answer(1) == ["1", "1"]
    assert answer(2) == ["2", "0"]


@COMPILED
@pytest.mark.slow
def test_a_kernel_is_compiled_again_where_a_class_that_it_takes_has_moved(package):
    """As it does from one version to the next, while the cache stays."""
    for place in ("here", "there"):
        (package / f"kernels/{place}.py").write_text(PAIR)
        (package / "kernels/user.py").write_text(MOVED.format(place))
        assert printed(package) == ["3", "0"]
        assert printed(package) == ["3", "1"]
        (package / f"kernels/{place}.py").unlink()


def test_a_digest_follows_imports_of_the_package_only(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "__file__", str(tmp_path / "kernels/sources.py"))
    (tmp_path / "kernels/deep").mkdir(parents=True)
    files = {
        "top": "from strukt.kernels.deep import (\n    middle,\n    other as another,\n)\nfrom os import path\n",
        "deep/middle": "if True:\n    from strukt.kernels.bottom import thing\nfrom strukt.kernels import top\n",
        "deep/other": "",
        "bottom": "",
        "unrelated": "",
    }

    def digest(**changed):
        for name, text in {**files, **changed}.items():
            (tmp_path / f"kernels/{name}.py").write_text(text)
        sources._read.cache_clear()
        return sources.stamp.__wrapped__(str(tmp_path / "kernels/top.py"))

    whole = digest()
    assert digest() == whole
    assert digest(unrelated="1") == whole
    for name in ("top", "deep/middle", "deep/other", "bottom"):
        assert digest(**{name: files[name] + "# changed"}) != whole
    sources._read.cache_clear()
