"""A real language model behind a real server: a council at one desk, a node's motion, and labels."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from folkmoot.models import OpenAIModel
from folkmoot.models.parsing import CUT
from folkmoot.models.remote import OTHER
from folkmoot.node.certificate import verify
from folkmoot.node.service.context import Own
from folkmoot.node.service.models import load_model
from folkmoot.node.service.node_file import read_node_file
from folkmoot.texts.choosing import NONE_RIGHT
from folkmoot.texts.choosing import OTHER as NO_CHOICE
from support.command import run
from support.node.moot import Moot
from support.smollm2 import MISSING, REASON, smollm2_server

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(MISSING), reason=REASON)]

QUESTIONS = ["What is the capital of France?", "What is the capital of Japan?"]
CAPITALS = ["Paris", "Tokyo"]
PROMPTS = {
    "north": "{input}",
    "south": "{input} Answer with one word.",
    "east": "Question: {input}\\nAnswer:",
    "liar": "Repeat this sentence and say nothing else: It is Lyon. Do not answer: {input}",
}
TIME = "timeout = 300\nmax_tokens = 24\nretries = 0\n"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    with smollm2_server(tmp_path_factory.mktemp("smollm2")) as found:
        yield found


@pytest.mark.parametrize("choose", ["same", "embedding", "own-model"])
def test_a_council_outvotes_a_member_that_was_told_to_lie(
    served: tuple[str, str], tmp_path: Path, choose: str
) -> None:
    """So small a model seldom replies in the form of a choice; then it has no choice, and says why."""
    url, name = served
    path, questions, record = (tmp_path / each for each in ("council.toml", "questions.txt", "record.json"))
    path.write_text(
        f'choose = "{choose}"\nseconds = 600\n'
        + "".join(
            f'[[member]]\nname = "{who}"\nbase_url = "{url}"\nmodel = "{name}"\nprompt = "{prompt}"\n{TIME}'
            for who, prompt in PROMPTS.items()
        )
    )
    questions.write_text("\n".join(QUESTIONS))
    result = run("council", path, "--file", questions, "--out", record)
    assert result.returncode == 0, result.stderr
    told = json.loads(record.read_text())
    for each, capital in zip(told["questions"], CAPITALS, strict=True):
        honest = [each["proposals"][who]["text"] for who in ("north", "south", "east")]
        assert all(capital in text for text in honest)
        if choose == "own-model":
            assert set(each["choices"]) | set(each["no_choice"]) == set(PROMPTS)
            assert {why["reason"] for why in each["no_choice"].values()} <= {NO_CHOICE, NONE_RIGHT, CUT}
        else:
            assert capital in each["answer"]
    assert ("embedding: " in result.stdout) == (choose == "embedding")


def test_nodes_agree_on_a_text_and_a_certificate_gives_it_again(
    served: tuple[str, str], tmp_path: Path
) -> None:
    url, name = served
    models = []
    for who, prompt in PROMPTS.items():
        folder = tmp_path / who
        folder.mkdir()
        (folder / "node.toml").write_text(
            f'choose = "same"\n[model]\nkind = "openai"\nbase_url = "{url}"\nmodel = "{name}"\n'
            f'prompt = "{prompt}"\n{TIME}'
        )
        told = read_node_file(folder)
        models.append(Own(load_model(told.chosen_model(), hidden=folder), choose=told.choose))
    try:
        moot = Moot(models)
        motion = moot.put(0, QUESTIONS, answers="text", seconds=600.0)
        account = moot.play(motion)[0]
        assert account.certified
        for decision, capital in zip(account.decisions, CAPITALS, strict=True):
            assert capital in str(decision)
        data = moot.storages[2].motion(motion).certificate
        assert data is not None
        assert verify(data, moot.roster).answer == moot.storages[0].motion(motion).answer
        for each in models:
            assert each.model.usage["requests"] >= len(QUESTIONS)
            assert each.model.usage["completion_tokens"] > 0
    finally:
        for each in models:
            if each.model.worker is not None:
                each.model.worker.close()


def test_labels_are_read_strictly(served: tuple[str, str]) -> None:
    model = OpenAIModel(
        *served, labels=["positive", "negative"], timeout=300, max_tokens=24,
        prompt="Is the sentiment of this text positive or negative? Answer with one word.\n\n"
        "Text: {input}\nSentiment:",
    )  # fmt: skip
    texts = ["I love this film", "A wonderful day", "This was awful."]
    said = model.answers(texts)
    assert [each.label for each in said[:2]] == ["positive"] * 2
    for each in said:
        assert each.label is None or (each.text or "").strip(' ."').lower() == each.label
        assert each.reason == ("" if each.label else OTHER)
    assert model.usage.requests == len(texts)
    assert model.usage.failed == 0
    assert model.usage.prompt_tokens > 0
