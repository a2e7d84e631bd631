"""Every structure keeps every law of `strukt.testing`."""

import pytest

from strukt.testing import laws
from strukt.testing.structures import STRUCTURES


@pytest.mark.parametrize(
    ("subject", "law"),
    [
        pytest.param(subject, law, id=f"{law.name}-{subject.name}")
        for subject in STRUCTURES
        for law in laws(subject)
    ],
)
def test_law(subject, law):
    law.check(subject)
