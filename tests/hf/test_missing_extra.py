"""Without transformers the package says what to install, and nothing else of strukt asks for it."""

import subprocess
import sys

CODE = """
import sys
sys.modules["transformers"] = None  # as if it were not installed
import strukt, strukt.nn
assert "strukt.hf" not in sys.modules
try:
    import strukt.hf
except strukt.MissingExtraError as error:
    print(error)
"""


def test_the_extra_is_named():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, timeout=300)
    expected = "'transformers' is not installed; get it with: pip install \"strukt[hf]\""
    assert done.stdout.strip() == expected, done.stderr
