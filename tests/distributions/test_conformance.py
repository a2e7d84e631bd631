"""Every structure keeps every law of `strukt.testing`."""

import pytest

from strukt.testing import laws
from strukt.testing.law import LAWS
from strukt.testing.subjects import STRUCTURES


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


@pytest.mark.parametrize("law", ["derivatives_pass_numerical_checks", "functional_transforms_work"])
@pytest.mark.parametrize("subject", STRUCTURES, ids=lambda subject: subject.name)
def test_derivatives_of_the_reference(subject, law, monkeypatch):
    monkeypatch.setenv("STRUKT_BACKEND", "reference")
    LAWS[law].check(subject)
