"""``from folkmoot.chain import Contract``: light, and a missing extra is answered with the line to type."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import folkmoot.chain
from folkmoot.network.membership.identity import create

# Packages of the extras cannot be found; then every public name is taken, and used as far as it goes.
WITHOUT = """
import importlib.abc, json, sys
from pathlib import Path
class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0].startswith(("eth", "rlp", "hexbytes")):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
before = set(sys.modules)
import folkmoot.chain as chain
light = sorted(set(sys.modules) - before)
names = {name: getattr(chain, name) for name in chain.__all__}
from folkmoot.network.membership.roster import Roster
said = {}
for name, use in {
    "Contract": lambda: chain.Contract(chain.HttpRpc("http://127.0.0.1:9"), "0x" + "12" * 20),
    "InProcess": lambda: chain.InProcess(),
    "Sender": lambda: chain.Sender(None, bytes(32)),
    "read_keystore": lambda: chain.read_keystore(Path(sys.argv[1]), "correct horse"),
    "read_weights": lambda: chain.read_weights(Path(sys.argv[1]), []),
    "roster": lambda: Roster.read(sys.argv[2]),
}.items():
    try:
        use()
    except ModuleNotFoundError as error:
        said[name] = str(error)
print(json.dumps([light, sorted(names), said]))
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    folder = tmp_path_factory.mktemp("without")
    file, roster = folder / "me.json", folder / "roster.toml"
    file.write_text(json.dumps({"version": 3, "weights": {"0x" + "12" * 20: 1}}))
    line = create(folder / "north", name="north").member().line()
    tied = f', chain = "0x{"12" * 20}", signed_by_node = "{"00" * 64}", signed_by_chain = "{"00" * 65}" }}'
    roster.write_text(f"participants = [ {line[:-2]}{tied} ]\n")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, file, roster], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


def test_every_name_can_be_imported_without_the_extra(told: list[object]) -> None:
    light, names, _ = told
    assert names == sorted(folkmoot.chain.__all__)
    assert {"Contract", "HttpRpc", "InProcess", "Sender", "read_keystore", "read_weights"} <= set(names)
    assert isinstance(light, list)
    assert len(light) < 40
    assert not {"numpy", "msgspec", "cryptography", "folkmoot.chain.contract"} & set(light)


def test_using_one_names_the_line_to_type(told: list[object]) -> None:
    said = told[2]
    assert isinstance(said, dict)
    assert set(said) == {"Contract", "InProcess", "Sender", "read_keystore", "read_weights", "roster"}
    for name, line in said.items():
        assert line.startswith("folkmoot chain needs eth_")
        extra = "chain-local" if name == "InProcess" else "chain"
        assert f'pip install "folkmoot[{extra}]"' in line


def test_the_names_are_those_that_the_modules_have() -> None:
    from folkmoot.chain import Contract, HttpRpc, InProcess, Sender
    from folkmoot.chain.contract import Contract as ThatContract

    assert Contract is ThatContract
    for verb in (
        *(
            "put",
            "fund",
            "commit",
            "reveal",
            "post",
            "dispute",
            "tell",
            "score",
            "claim",
            "withdraw",
            "deploy",
        ),
        *("motions", "seats", "records", "credit", "weight"),
    ):
        assert callable(getattr(Contract, verb))
    assert Path(sys.modules[HttpRpc.__module__].__file__ or "").name == "http_rpc.py"
    assert {InProcess.__name__, Sender.__name__} <= set(dir(folkmoot.chain))
