"""``from folkmoot_chain import Contract``: light; and without the extra ``local`` there is a line to type."""

from __future__ import annotations

import doctest
import importlib
import json
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import folkmoot_chain

# Neither the extra nor folkmoot can be found; then every public name is taken, and the commands are loaded.
WITHOUT = """
import importlib.abc, json, sys
class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("eth", "eth_tester", "sklearn", "folkmoot"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
before = set(sys.modules)
import folkmoot_chain as chain
light = sorted(set(sys.modules) - before)
names = {name: getattr(chain, name) for name in chain.__all__}
from folkmoot_chain.local_motion import LocalMotion, play
said = {}
for name, use in {"InProcess": chain.InProcess, "local": lambda: play(LocalMotion(2, 0, 0))}.items():
    try:
        use()
    except ModuleNotFoundError as error:
        said[name] = str(error)
import folkmoot_chain.cli.app
chain.Sender(None, b"1" * 32)
print(json.dumps([light, sorted(names), said]))
"""


@pytest.fixture(scope="module")
def told() -> list[object]:
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


def test_every_name_can_be_imported_alone(told: list[object]) -> None:
    light, names, _ = told
    assert names == sorted(folkmoot_chain.__all__)
    assert {"Contract", "HttpRpc", "InProcess", "Sender", "read_keystore"} <= set(names)
    assert isinstance(light, list)
    assert not {"numpy", "eth_account", "cryptography", "folkmoot_chain.contract"} & set(light)


def test_a_missing_extra_names_the_line_to_type(told: list[object]) -> None:
    line = 'pip install "folkmoot-chain[local]"'
    assert told[2] == {
        "InProcess": f"a chain on this machine needs eth: {line}",
        "local": f"a chain on this machine needs sklearn: {line}",
    }


def test_the_names_are_those_that_the_modules_have() -> None:
    from folkmoot_chain import Contract, HttpRpc, InProcess, Sender
    from folkmoot_chain.contract import Contract as ThatContract

    assert Contract is ThatContract
    verbs = "put fund commit reveal post dispute tell score claim withdraw deploy"
    for verb in f"{verbs} motions seats records credit weight".split():
        assert callable(getattr(Contract, verb))
    assert Path(sys.modules[HttpRpc.__module__].__file__ or "").name == "http_rpc.py"
    assert {InProcess.__name__, Sender.__name__} <= set(dir(folkmoot_chain))


@pytest.mark.parametrize(
    "module",
    [
        each.name
        for each in pkgutil.walk_packages(folkmoot_chain.__path__, "folkmoot_chain.")
        if not each.name.endswith("__main__")
    ],
)
def test_examples_print_what_they_say(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    failed, _ = doctest.testmod(importlib.import_module(module), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failed == 0, capsys.readouterr().out
