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


@pytest.mark.skipif(
    dispatch.backends()["cpu"] != "available", reason=f"no compiled kernels: {dispatch.backends()['cpu']}"
)
def test_a_kernel_whose_helper_was_edited_is_compiled_again(tmp_path):
    package = tmp_path / "strukt"
    shutil.copytree(Path(strukt.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "kernels/user.py").write_text(KERNEL)

    def answer(number):
        (package / "kernels/helper.py").write_text(HELPER.format(number))
        environment = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        command = [sys.executable, "-c", "import strukt.kernels.user"]
        found = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True)
        return found.stdout.split()

    assert answer(1) == ["1", "0"]
    assert answer(1) == ["1", "1"]
    assert answer(2) == ["2", "0"]


def test_a_digest_follows_imports_of_the_package_only(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "__file__", str(tmp_path / "kernels/sources.py"))
    (tmp_path / "kernels/deep").mkdir(parents=True)
    files = {
        "top": "from strukt.kernels.deep import (\n    middle,\n    other as another,\n)\nfrom os import path\n",
        "deep/middle": "from strukt.kernels.bottom import thing\nfrom strukt.kernels import top\n",
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
