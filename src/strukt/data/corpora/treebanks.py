"""Treebanks of Universal Dependencies: addresses and names of files, derived from the names of treebanks."""

from __future__ import annotations

import re

from strukt.data.corpora.sources import RAW, Corpus, published
from strukt.errors import SettingError

RELEASE = "r2.17"
"""The release of Universal Dependencies that is fetched unless a treebank has a commit with known digests."""

EXAMPLE = "UD_English-EWT"

_COMMITS = {
    "UD_Chinese-GSD": "200dbe8acf60ff0d194f2d30bf925c410eee762a",
    "UD_English-EWT": "15d613d8447b3478787d4c278730a1e48a945efb",
    "UD_Vietnamese-VTB": "e8fa54835582fb5d0c767f19f0992675726fa084",
}  # the commits of releases 2.16 (EWT) and 2.17; the digests of their files are known

_NAME = re.compile(r"UD_([A-Za-z_]+)-([A-Za-z]+)")
_LANGUAGE = re.compile(r"[a-z]{2,8}")
_VERSION = re.compile(r"[\w-]+(?:\.[\w-]+)*", re.ASCII)

_CODES = """
    Abaza abq, Afrikaans af, Akkadian akk, Akuntsu aqz, Albanian sq, Alemannic gsw, Amharic am,
    Ancient_Greek grc, Ancient_Hebrew hbo, Apurina apu, Arabic ar, Armenian hy, Assyrian aii, Azerbaijani
    az, Bambara bm, Basque eu, Bavarian bar, Beja bej, Belarusian be, Bengali bn, Bhojpuri bho, Bororo bor,
    Breton br, Bulgarian bg, Buryat bxr, Cantonese yue, Catalan ca, Cebuano ceb, Chinese zh, Chukchi ckt,
    Classical_Armenian xcl, Classical_Chinese lzh, Coptic cop, Croatian hr, Czech cs, Danish da, Dutch nl,
    Egyptian egy, English en, Erzya myv, Esperanto eo, Estonian et, Faroese fo, Finnish fi, French fr,
    Galician gl, Georgian ka, German de, Gheg aln, Gothic got, Greek el, Guajajara gub, Guarani gn, Gujarati
    gu, Haitian_Creole ht, Hausa ha, Hebrew he, Hindi hi, Hindi_English qhe, Hittite hit, Hungarian hu,
    Icelandic is, Indonesian id, Irish ga, Italian it, Japanese ja, Javanese jv, Kaapor urb, Kangri xnr,
    Karelian krl, Karo arr, Kazakh kk, Khunsari kfm, Kiche quc, Komi_Permyak koi, Komi_Zyrian kpv, Korean
    ko, Kurmanji kmr, Kyrgyz ky, Latgalian ltg, Latin la, Latvian lv, Ligurian lij, Lithuanian lt, Livvi
    olo, Low_Saxon nds, Luxembourgish lb, Macedonian mk, Makurap mpu, Malayalam ml, Maltese mt, Manx gv,
    Marathi mr, Mbya_Guarani gun, Middle_French frm, Moksha mdf, Munduruku myu, Naija pcm, Nayini nyq,
    Neapolitan nap, Nheengatu yrl, North_Sami sme, Northern_Kurdish kmr, Norwegian no, Occitan oc, Odia or,
    Old_Church_Slavonic cu, Old_East_Slavic orv, Old_English ang, Old_French fro, Old_Irish sga, Old_Occitan
    pro, Old_Turkish otk, Ottoman_Turkish ota, Pashto ps, Persian fa, Polish pl, Pomak qpm, Portuguese pt,
    Romanian ro, Russian ru, Sanskrit sa, Scottish_Gaelic gd, Serbian sr, Sicilian scn, Sindhi sd, Sinhala
    si, Skolt_Sami sms, Slovak sk, Slovenian sl, Soi soi, South_Levantine_Arabic ajp, Spanish es, Swedish
    sv, Swedish_Sign_Language swl, Swiss_German gsw, Tagalog tl, Tamil ta, Tatar tt, Teko eme, Telugu te,
    Thai th, Tswana tn, Tupinamba tpn, Turkish tr, Turkish_German qtd, Ukrainian uk, Umbrian xum,
    Upper_Sorbian hsb, Urdu ur, Uyghur ug, Uzbek uz, Veps vep, Vietnamese vi, Warlpiri wbp, Welsh cy,
    Western_Armenian hyw, Wolof wo, Xavante xav, Xibe sjo, Yakut sah, Yiddish yi, Yoruba yo, Yupik ess"""

LANGUAGES = dict(row.split() for row in _CODES.split(","))
"""The code of each language, by its name in the names of treebanks; the names of files begin with the code."""


def treebank(name: str, version: str | None = None, language: str | None = None) -> Corpus:
    """Return the description of a treebank of Universal Dependencies, for `obtain`; nothing is fetched.

    The README.md of the treebank states its licence. Some treebanks have only test sentences.

    Args:
        name: The name, such as `UD_English-EWT`.
        version: A release, such as `r2.17`, or a commit; if None, a commit whose digests are known to strukt, or
            else release `r2.17`.
        language: The code with which the names of the files begin, such as `en`; only needed for languages that
            strukt does not know.

    Raises:
        SettingError: If the name, version or code is malformed, or the code of the language is not known.

    Examples:
        >>> [file.path for file in treebank("UD_Czech-CAC").files][2:]
        ['cs_cac-ud-train.conllu', 'cs_cac-ud-dev.conllu', 'cs_cac-ud-test.conllu']
    """
    match = _NAME.fullmatch(name)
    if match is None:
        raise SettingError(f"{name!r} is not the name of a treebank; expected one such as {EXAMPLE}")
    language = language or LANGUAGES.get(match[1])
    if language is None:
        raise SettingError(f"the code of the language {match[1]} is not known; give it: --language CODE")
    if not _LANGUAGE.fullmatch(language):
        raise SettingError(f"{language!r} is not the code of a language; expected letters, such as en")
    version = version or _COMMITS.get(name, RELEASE)
    if not _VERSION.fullmatch(version):
        raise SettingError(f"{version!r} is not a version of a treebank; expected one such as {RELEASE}")
    root = f"{RAW}/UniversalDependencies/{name}/{version}"
    train, dev, test = (
        f"{language}_{match[2].lower()}-ud-{split}.conllu" for split in ("train", "dev", "test")
    )
    corpora = f"--train {{}}/{train} --dev {{}}/{dev}"
    return Corpus(
        name=name,
        home=f"https://github.com/UniversalDependencies/{name}",
        version=version,
        licence=None,
        citation="see README.md",
        files=(
            published(f"{root}/README.md", "README.md"),
            published(f"{root}/LICENSE.txt", "LICENSE.txt", is_optional=True),
            published(f"{root}/{train}", train, is_optional=True),
            published(f"{root}/{dev}", dev, is_optional=True),
            published(f"{root}/{test}", test),
        ),
        commands=tuple(f"{task} {corpora}" for task in ("dependency", "tag", "pipeline")),
    )
