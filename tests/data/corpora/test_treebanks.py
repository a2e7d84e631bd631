"""Names of treebanks, and the files that they stand for."""

import pytest

from strukt.data.corpora.treebanks import LANGUAGES, RELEASE, treebank
from strukt.errors import SettingError

ROOT = "https://raw.githubusercontent.com/UniversalDependencies"


def test_files_follow_from_the_name():
    found = treebank("UD_Ancient_Greek-PROIEL")
    assert found.version == RELEASE
    assert [
        file.address.removeprefix(f"{ROOT}/UD_Ancient_Greek-PROIEL/{RELEASE}/") for file in found.files
    ] == [
        "README.md",
        "LICENSE.txt",
        "grc_proiel-ud-train.conllu",
        "grc_proiel-ud-dev.conllu",
        "grc_proiel-ud-test.conllu",
    ]
    assert [file.is_optional for file in found.files] == [False, True, True, True, False]
    assert all(file.expected is None for file in found.files)


def test_what_is_known_is_checked_unless_another_version_is_asked_for():
    found = treebank("UD_English-EWT")
    assert found.files[2].expected.size == 14_203_025
    assert found.size == 14_203_025 + 1_805_545 + 1_804_515
    other = treebank("UD_English-EWT", "r2.5")
    assert other.files[2].address == f"{ROOT}/UD_English-EWT/r2.5/en_ewt-ud-train.conllu"
    assert other.files[2].expected is None


def test_languages():
    assert {LANGUAGES[name] for name in ("English", "Norwegian", "Classical_Chinese", "Yupik")} == {
        "en",
        "no",
        "lzh",
        "ess",
    }
    assert all(code.isalpha() and code.islower() and 2 <= len(code) <= 3 for code in LANGUAGES.values())
    assert treebank("UD_Klingon-KT", language="tlh").files[4].path == "tlh_kt-ud-test.conllu"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("UD_English",), "'UD_English' is not the name of a treebank; expected one such as UD_English-EWT"),
        (("UD_English-EWT/../x",), "is not the name of a treebank"),
        (("UD_Klingon-KT",), "the code of the language Klingon is not known; give it: --language CODE"),
        (("UD_English-EWT", None, "../en"), "'../en' is not the code of a language; expected letters, such as en"),
        (("UD_English-EWT", "../../x"), "'../../x' is not a version of a treebank; expected one such as r2.17"),
        (("UD_English-EWT", "r2.17 "), "is not a version of a treebank"),
        (("UD_English-EWT", ".."), "is not a version of a treebank"),
    ],
)
def test_what_is_no_treebank(arguments, message):
    with pytest.raises(SettingError) as caught:
        treebank(*arguments)
    assert message in str(caught.value)
