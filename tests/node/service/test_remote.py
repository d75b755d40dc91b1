"""A node's model behind a service: in a worker with network and no files, in time, and its key nowhere."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from folkmoot.doctor.node_folder import tried
from folkmoot.models.parsing import REFUSED
from folkmoot.models.posting import NONSENSE, TOO_SLOW, UNREACHED
from folkmoot.models.remote import OTHER
from folkmoot.node.service.models import Model, load_model
from folkmoot.node.service.node_file import read_node_file
from folkmoot.sandbox.confinement import possible
from folkmoot.sandbox.process import Sandboxed, WorkerError
from support.node.moot import Moot, model
from support.scripted_models import ScriptedServer, scripted_server
from support.scripted_rows import row_server

KEY = "sk-Abc123-secret-of-the-tests"
ROWS = np.array([[1.0, 5.0], [1.0, 1.0], [4.0, 4.0]])
TRUTH = ["malignant", "benign", "malignant"]
needs_all = pytest.mark.skipif(
    not possible(1).whole, reason="this system has no Landlock or no seccomp filter"
)


def rule(prompt: str) -> str:
    return "1" if sum(json.loads(prompt.splitlines()[-1])) > 5 else "0"


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    with scripted_server(rule, lambda _: {"1": 0.75, "0": 0.25}) as script:
        yield script


def node_toml(folder: Path, server: ScriptedServer, member: str, more: str = "") -> Path:
    """A node's folder with a member of the scripted server as its model."""
    folder.mkdir(exist_ok=True)
    (folder / "node.toml").write_text(
        f'[model]\nkind = "openai"\nbase_url = "{server.url}"\n'
        f'model = "{member}"\nlabels = {{0 = "benign", 1 = "malignant"}}\nretries = 0\n{more}\n'
    )
    return folder


def loaded(folder: Path, *, sandbox: bool = True) -> Model:
    return load_model(read_node_file(folder).chosen_model(), hidden=folder if sandbox else None)


@pytest.mark.parametrize("sandbox", [True, False])
def test_a_table_of_node_toml_makes_a_model_that_answers(
    tmp_path: Path, server: ScriptedServer, sandbox: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NORTH_KEY", KEY)
    folder = node_toml(tmp_path / "north", server, "likely", 'api_key_env = "NORTH_KEY"\nparallel = 3')
    found = loaded(folder, sandbox=sandbox)
    assert (found.labels, found.at_once, found.spec) == (
        ["benign", "malignant"],
        3,
        f"likely at {server.url}",
    )
    answered = found.ask(ROWS, "labels", ("benign", "malignant"), seconds=20.0)
    assert (list(answered.values), answered.reason) == (["malignant"] * 3, "")
    assert server.asked[-1][0]["Authorization"] == f"Bearer {KEY}"
    likely = found.probabilities(ROWS, ["malignant", "benign"])
    np.testing.assert_allclose(likely, [[0.75, 0.25]] * 3, atol=1e-9)
    assert found.usage == {"requests": 6, "failed": 0, "prompt_tokens": 42, "completion_tokens": 12}
    shown = repr(vars(found)) + repr(found.usage) + found.confinement
    assert KEY not in shown
    if found.worker is not None:
        if possible(1).whole:
            assert f"network to port {server.url.split(':')[2][:-3]} only" in found.confinement
        child = found.worker._child
        assert child is not None
        assert KEY.encode() not in Path(f"/proc/{child._process.pid}/environ").read_bytes()
        assert KEY.encode() not in Path(f"/proc/{child._process.pid}/cmdline").read_bytes()
        found.worker.close()


@pytest.mark.parametrize(
    ("member", "reason"),
    [
        ("rambling", OTHER),
        ("refusing", REFUSED),
        ("garbage", NONSENSE),
        ("deep", NONSENSE),
        ("endless", NONSENSE),
    ],
)
def test_nothing_that_a_service_says_ends_the_worker(
    tmp_path: Path, server: ScriptedServer, member: str, reason: str
) -> None:
    found = loaded(node_toml(tmp_path / "north", server, member))
    for _ in range(3):
        answered = found.ask(ROWS, "labels", ("benign", "malignant"), seconds=20.0)
        assert (list(answered.values), answered.reason) == ([None] * 3, reason)
    assert found.worker is not None
    assert found.worker._child is not None  # the first one still
    found.worker.close()


def test_an_asker_whose_service_is_down_still_gets_the_answer_of_the_others(tmp_path: Path) -> None:
    with socket.socket() as taken:  # bound, and nobody listens
        taken.bind(("127.0.0.1", 0))
        folder = tmp_path / "north"
        folder.mkdir()
        (folder / "node.toml").write_text(
            f'[model]\nkind = "openai"\nbase_url = "http://127.0.0.1:{taken.getsockname()[1]}/v1"\n'
            'model = "m"\nlabels = ["benign", "malignant"]\nretries = 0\n'
        )
        down = loaded(folder, sandbox=False)
        others = [model(lambda rows: ["malignant"] * len(rows))] * 3
        moot = Moot([down, *others])
        account = moot.play(moot.put(0, ROWS, labels=("benign", "malignant")))[0]
    assert account.decisions == ["malignant"] * 3
    assert account.refused == {"node000": UNREACHED}
    assert down.usage["requests"] == len(ROWS), "one for each vote, and none to try it"


def test_a_wrong_setting_is_one_line_that_names_its_table(tmp_path: Path, server: ScriptedServer) -> None:
    folder = node_toml(tmp_path / "north", server, "right", 'timeout = "5"')
    with pytest.raises(ValueError, match=r"^\[model\]: timeout must be a positive number of seconds: got"):
        loaded(folder)


@pytest.mark.parametrize("member", ["slow", "dripping"])
def test_a_slow_service_answers_in_time_or_not_at_all(
    tmp_path: Path, server: ScriptedServer, member: str
) -> None:
    found = loaded(node_toml(tmp_path / "north", server, member))
    start = time.monotonic()
    answered = found.ask(ROWS, "labels", ("benign", "malignant"), seconds=0.4)
    assert time.monotonic() - start < 10
    assert (list(answered.values), answered.reason) == ([None] * 3, TOO_SLOW)
    assert found.worker is not None
    assert found.worker._child is not None  # it gave up by itself, and need not be started again
    found.worker.close()


def test_one_row_is_tried(tmp_path: Path, server: ScriptedServer) -> None:
    (tmp_path / "north").mkdir()
    (tmp_path / "north" / "c.toml").write_text(
        '[[column]]\nname = "a"\nlow = 4\nhigh = 8\n[[column]]\nname = "b"\n'
    )
    for member, wanted in (("right", "malignant"), ("rambling", "")):
        found = loaded(node_toml(tmp_path / "north", server, member, 'schema = "c.toml"'))
        trial = tried(found)
        assert trial is not None
        assert (trial.answer, trial.asked, bool(trial.trouble)) == (wanted, "one row", not wanted)
        assert json.loads(server.asked[-1][1]["messages"][-1]["content"].splitlines()[-1]) == [6.0, 0.0]
        assert found.worker is not None
        found.worker.close()


def test_members_with_services_decide_in_a_moot(tmp_path: Path, server: ScriptedServer) -> None:
    members = [
        loaded(node_toml(tmp_path / name, server, name))
        for name in ("right", "no-logprobs", "rambling", "failing", "injecting")
    ]
    plain = [
        model(lambda rows: ["malignant" if sum(row) > 5 else "benign" for row in rows]) for _ in range(2)
    ]
    moot = Moot([*members, *plain])
    account = moot.play(moot.put(5, ROWS, labels=("benign", "malignant")))[0]
    assert account.decisions == TRUTH
    why = moot.account(5, bytes.fromhex(account.motion)).refused
    assert {why["node002"], why["node004"]} == {OTHER}
    assert why["node003"] == "its model's server refused the request"
    for each in members:
        assert each.worker is not None
        each.worker.close()


def test_a_file_of_toml_holds_a_table_too(tmp_path: Path, server: ScriptedServer) -> None:
    folder = node_toml(tmp_path / "north", server, "right")
    (folder / "node.toml").rename(tmp_path / "llm.toml")
    (folder / "node.toml").write_text('model = "../llm.toml"\n')
    found = loaded(folder)
    assert found.predict(ROWS) == TRUTH
    assert found.worker is not None
    found.worker.close()
    (tmp_path / "llm.toml").write_text('kind = "openai"\n')
    with pytest.raises(ValueError, match=r"llm\.toml must hold a table \[model\]"):
        loaded(folder)


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ('kind = "gpt"', 'kind in [model] must be one of "file", "python", "openai", "http": got'),
        ('kind = "openai"\nbase_url = "http://h/v1"', "model in [model] must be text: got None"),
        ('kind = "openai"\nbase_url = "h"\nmodel = "m"', "base_url must be an address such as"),
        ('kind = "openai"\nbase_url = "http://h/v1"\nmodel = "m"\nurl = "x"', "[model]: "),
        ('kind = "openai"\nbase_url = "http://h/v1"\nmodel = "m"\napi_key_env = "NO_SUCH_KEY"', "not set"),
        (f'kind = "openai"\nbase_url = "http://h/v1"\nmodel = "m"\napi_key_env = "{KEY}"', "not shown"),
        ('kind = "http"\nurl = "http://h/x"\nprotocol = "grpc"', "protocol must be"),
        ('kind = "http"\nurl = "http://h/x"\nlabels = ["a"]', "labels must be a list"),
        ('kind = "http"\nurl = "http://h/x"\ncolumns = ["a", "a"]', "columns must be a list of different"),
        ('file = "x.skops"\nbase_url = "y"', "[model]: "),
    ],
)  # fmt: skip
def test_a_wrong_table_is_one_clear_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: str, line: str
) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    (tmp_path / "node.toml").write_text(f'name = "north"\n\n[model]\n{more}\n')
    with pytest.raises((ValueError, TypeError)) as caught:
        loaded(tmp_path)
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)
    assert KEY not in str(caught.value)


def test_a_service_of_rows_has_columns_and_labels_by_its_own_names(tmp_path: Path) -> None:
    def said(rows: list[Any]) -> list[Any]:
        return [int(row["mean_radius"] > 3) for row in rows]

    with row_server(said, said) as rows:
        (tmp_path / "node.toml").write_text(
            f'[model]\nkind = "http"\nprotocol = "mlflow"\nurl = "{rows.url}/invocations"\n'
            '[model.labels]\n0 = "benign"\n1 = "malignant"\n'
            '[model.columns]\nmean_radius = "mean radius"\narea = "area"\n'
        )
        found = loaded(tmp_path)
        assert [column.name for column in found.schema] == ["mean radius", "area"]
        assert found.predict(ROWS) == ["benign", "benign", "malignant"]
        assert found.worker is not None
        found.worker.close()


PROBE = '''
import os, socket, subprocess
import msgspec

class Facts(msgspec.Struct):
    pass

def served(data, node, free, taken):
    from folkmoot.sandbox.messages import Labels

    def connect(port):
        socket.create_connection(("127.0.0.1", port), 5).close()

    def listen():
        socket.create_server(("127.0.0.1", 0)).close()

    harms = {
        "right port": lambda: connect(free), "other port": lambda: connect(taken),
        "key": lambda: open(os.path.join(node, "key.pem")).read(),
        "passwords": lambda: open("/etc/passwd").read(),
        "write": lambda: open("/tmp/w", "w"),
        "listen": listen, "program": lambda: subprocess.run(["/bin/true"]),
        "unix": lambda: socket.socket(socket.AF_UNIX), "raw": lambda: socket.socket(socket.AF_PACKET, 3, 3),
        "name": lambda: socket.getaddrinfo("localhost", 80),
    }

    def probe():
        found = []
        for name, harm in harms.items():
            try:
                harm()
                found.append(name)
            except OSError:
                pass
        return Labels(found, (len(found),))

    return Facts(), {"probe": probe}
'''  # fmt: skip


class _Facts(msgspec.Struct):
    pass


@needs_all
def test_the_worker_of_a_service_has_its_port_and_no_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from folkmoot.sandbox.landlock import abi
    from folkmoot.sandbox.messages import Labels

    node, work = tmp_path / "north", tmp_path / "work"
    node.mkdir()
    work.mkdir()
    (node / "key.pem").write_text("PRIVATE")
    (work / "probe_of_a_worker.py").write_text(PROBE)
    monkeypatch.chdir(work)
    with socket.create_server(("127.0.0.1", 0)) as free, socket.create_server(("127.0.0.1", 0)) as taken:
        ports = [each.getsockname()[1] for each in (free, taken)]
        for allowed in ([ports[0]], []):
            worker = Sandboxed(
                "probe_of_a_worker:served", None, [str(node), *ports], _Facts, private=[node],
                working_folder=True, ports=allowed,
            )  # fmt: skip
            try:
                found = set(worker.ask("probe", reply=Labels, most=10_000).values)
            except WorkerError as error:
                pytest.fail(str(error))
            finally:
                worker.close()
            wanted = {"right port", "name"} if allowed else set()
            assert found - ({"other port"} if abi() < 4 else set()) - {"name"} == wanted - {"name"}
            if allowed:
                assert "name" in found
