"""The commands of a motion as they are typed, over HTTP: supplier, participants, and anybody."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from chain_support.command import assert_refused, run, run_json
from chain_support.node import make_node
from chain_support.server import serving
from chain_support.town import Town
from folkmoot_chain.cli.session import read_addresses
from folkmoot_chain.contract import Contract
from folkmoot_chain.http_rpc import HttpRpc
from folkmoot_chain.in_process import InProcess
from folkmoot_chain.rpc import RpcError
from folkmoot_chain.sending import Sender

TRUTH = [0, 1, 2, 0, 1, 2, 0, 1]


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    rpc = InProcess(1)
    with serving(rpc) as url:
        yield Town.made(rpc, url, tmp_path_factory.mktemp("town"))


def test_a_motion_as_it_is_typed(town: Town) -> None:
    roster = town.file("roster.txt", [f"{town.addresses['ann']}  # Ann", "", town.addresses["bob"].lower()])
    truth = town.file("truth.txt", [*TRUTH[:-1], "-"])
    votes = {"ann": town.file("ann.txt", TRUTH), "bob": town.file("bob.txt", [0, 1, 2, 0, 0, 0, 0, "-"])}
    terms = [
        "--truth",
        truth,
        "--labels",
        3,
        "--subject",
        "x",
        "--seats",
        2,
        "--stake",
        "10gwei",
        "--deposit",
        "1wei",
    ]
    rows = town.file("inputs.txt", list(range(8)))
    terms += ["--windows", "10m,10m,10m,10m", "--roster", roster, "--inputs", rows, "--protocol", "Slush"]

    dry = town.did("sam", "put", *terms, "--dry-run")
    assert dry["dry_run"]
    assert (dry["value"], int(dry["fee"])) == ("1", dry["gas"] * int(dry["gas_price"]))
    assert not (town.folder / "sam.json.moot").exists()  # nothing was sent, nothing is kept
    put = town.did("sam", "put", *terms)
    number = put["motion"]
    assert 0.9 < dry["gas"] / put["gas"] < 1.1
    assert json.loads(Path(put["truth_file"]).read_text())["known"] == [True] * 7 + [False]
    town.did("sam", "fund", number, "9wei")

    town.refused(
        "has a roster: give the file with --roster FILE", "ann", "commit", number, "--votes", votes["ann"]
    )
    short = town.file("short.txt", [0, 1])
    town.refused("a line for each of 8 inputs: it has 2", "ann", "commit", number, "--votes", short)
    other = town.file("other.txt", [town.addresses["ann"]])
    town.refused(
        "its Merkle root is another one", "ann", "commit", number, "--votes", votes["ann"], "--roster", other
    )
    town.refused("not in the roster", "sam", "commit", number, "--votes", votes["ann"], "--roster", roster)
    for name in ("ann", "bob"):
        said = town.did(name, "commit", number, "--votes", votes[name], "--roster", roster)
        assert Path(said["ballot_file"]).stat().st_mode & 0o777 == 0o600
    town.refused("holds another ballot", "ann", "commit", number, "--votes", votes["bob"], "--roster", roster)
    ends = put["deadlines"]
    assert town.did("ann", "watch", "--once")["motions"] == {str(number): "commitments are open"}

    town.rpc.travel(ends[0])
    town.rpc.tester.mine_block()
    ballot = said["ballot_file"]
    town.did("ann", "reveal", number, "--ballot", ballot)  # Bob gave his file to Ann
    run(*town.by("ann", "watch", "--once"))  # and she reveals her own by watching
    town.refused("there is no ballot of", "sam", "reveal", number)

    town.rpc.travel(ends[1])
    town.rpc.tester.mine_block()
    answer = town.did("sam", "post", number)["answer"]
    assert answer == [0, 1, 2, 0, 0, 0, 0, 1]  # the lowest where they are level; Bob abstained on the last
    town.refused("is right: a dispute would only cost gas", "ann", "dispute", number)
    town.refused("the answer is right there", "ann", "dispute", number, "--word", 0)
    town.refused("was not told", "ann", "score", number)
    town.did("sam", "tell", number)
    town.refused("is told already", "sam", "tell", number)
    watched = run(*town.by("ann", "watch", "--once"))
    assert watched.stdout.startswith("score: "), watched.stderr
    town.did("sam", "score", number)
    assert town.did("sam", "score", number)["transactions"] == []

    town.rpc.travel(ends[3])
    town.rpc.tester.mine_block()
    watched = run(*town.by("ann", "watch", "--every", "50ms"))  # claims, sees that nothing is left, and ends
    assert watched.stdout.splitlines()[0].startswith("claim: "), watched.stderr
    assert watched.stdout.splitlines()[-1] == f"motion {number}: done"
    town.did("sam", "claim", number)
    # Ann: 7 of 7 right, 14 points; Bob 5 of 7, 8 points; ten wei between them.
    owed = [Contract(town.rpc, town.contract).credit(town.addresses[name]) for name in ("ann", "bob", "sam")]
    assert owed == [10 * 10**9 + 10 * 14 // 22, 10 * 10**9 + 10 - 10 * 14 // 22, 10 * 10**9]
    assert town.did("bob", "withdraw", "--to", "0x" + "99" * 20)["amount"] == "0.000000010000000004"
    assert town.rpc.balance("0x" + "99" * 20) == owed[1]
    town.refused("has no credit to withdraw", "bob", "withdraw")

    weights = town.folder / "weights.json"
    shown = [
        "--rpc",
        town.url,
        "--contract",
        town.contract,
        "--supplier",
        town.addresses["sam"],
        "--subject",
        "x",
    ]
    found = run_json("record", *shown, "--roster", roster, "--labels", 3, "--weights", weights)
    records = found["records"]
    assert [records[town.addresses[name]]["right"] for name in ("ann", "bob")] == [7, 5]
    assert records[town.addresses["bob"]]["asked_of"][:3] == [3, 2, 2]
    # 1 + floor(15 (3 right - asked) / (2 (7 + 64)))
    stored = json.loads(weights.read_text())
    assert stored == {
        "chain": town.rpc.chain_id(),
        "contract": town.contract,
        "supplier": town.addresses["sam"],
        "subject": "x",
        "labels": 3,
        "weights": {town.addresses["ann"]: 1 + 15 * 14 // 142, town.addresses["bob"]: 1 + 15 * 8 // 142},
    }
    table = run("record", *shown, "--roster", roster)
    assert "weight" in table.stdout
    a_node_is_weighed_by_its_fingerprint(town, shown)


def a_node_is_weighed_by_its_fingerprint(town: Town, shown: list[str]) -> None:
    """Ann ties her address to her node; Bob does not."""
    node = make_node(town.folder / "node-ann", "node-ann")
    key = ["--keystore", town.folder / "ann.json", "--passphrase-file", town.folder / "passphrase"]
    tie = run_json("tie", town.folder / "node-ann", *key)["line"]
    roster, file = town.file("tied.txt", [tie, town.addresses["bob"]]), town.folder / "tied.json"
    record = ["record", *shown, "--roster", roster, "--labels", 3, "--weights", file]
    assert run_json(*record)["records"][town.addresses["ann"]]["name"] == "node-ann"
    assert f"{town.addresses['ann']}   node-ann" in run(*record).stdout
    assert json.loads(file.read_text())["weights"] == {
        node.fingerprint: 1 + 15 * 14 // 142,
        town.addresses["bob"]: 1 + 15 * 8 // 142,
    }
    # The same file is a roster for put and commit, which look at its addresses alone.
    assert [town.addresses[name] for name in ("ann", "bob")] == read_addresses(roster)
    roster.write_text(tie.replace(town.addresses["ann"], town.addresses["bob"]))
    assert_refused(f"{roster}: line 1: the node's signature must be that of node-ann's key", *record)


def test_open_seats_are_refused_unless_they_are_agreed_to(town: Town) -> None:
    truth = town.file("truth2.txt", [0, 1])
    terms = [
        "--truth",
        truth,
        "--labels",
        2,
        "--subject",
        "x",
        "--seats",
        2,
        "--stake",
        "1gwei",
        "--deposit",
        "0",
    ]
    number = town.did("sam", "put", *terms, "--windows", "10m,10m,10m,10m")["motion"]
    town.refused("has open seats: puppets of its supplier", "ann", "commit", number, "--votes", truth)
    town.did("ann", "commit", number, "--votes", truth, "--open")
    assert run(*town.by("ann", "watch", "--once")).returncode == 0  # she agreed when she committed
    path = next((town.folder / "ann.json.moot").glob(f"*/ballot-{number}-*.json"))
    path.write_text(path.read_text().replace("true", "false"))
    town.refused("has open seats", "ann", "watch", "--once")
    assert run(*town.by("ann", "watch", "--once", "--open")).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--windows", "10m,10m"], "--windows must be four times"),
        (["--windows", "10m,x,10m,10m"], "--windows must be a time such as"),
        (["--windows", "10s,10m,10m,10m"], "--windows must be at least 60 s each by this contract: got 10 s"),
        (["--labels", "1"], "must be a label, 0 to 0"),
        (["--labels", "17"], "2 <= labels <= 16"),
        (["--seats", "0"], "1 <= seats <="),
        (["--stake", "much"], "--stake must be an amount"),
        (["--stake", "0"], "--stake must be 1 wei to 2^80 - 1 wei"),
        (
            ["--confirmations", "soon"],
            "--confirmations must be safe, finalized or a number of blocks: got 'soon'",
        ),
        (["--chain-id", "1"], "the node must be one of chain 1: it is one of chain"),
        (["--contract", "0x12"], "an address is 0x and 40 hexadecimal digits"),
        (["--contract", "0x" + "12" * 20], "there is no contract at"),
        (["--rpc", "ftp://x"], "--rpc must be an address such as http://127.0.0.1:8545"),
        (["--rpc", "http://127.0.0.1:9"], "no answer from the node at http://127.0.0.1:9"),
        (["--truth", "/nowhere"], "/nowhere: No such file"),
    ],
)
def test_bad_input_to_put_is_one_line(town: Town, arguments: list[str], message: str) -> None:
    truth = town.file("truth3.txt", [0, 1])
    terms = [
        "--truth",
        truth,
        "--labels",
        2,
        "--subject",
        "x",
        "--seats",
        2,
        "--stake",
        "1gwei",
        "--deposit",
        "0",
    ]
    town.refused(message, "sam", "put", *terms, *arguments)


def test_keys_and_files_that_do_not_fit(town: Town, tmp_path: Path) -> None:
    (tmp_path / "wrong").write_text("wrong horse\n")
    (tmp_path / "empty").write_text("")
    base = [
        "withdraw",
        "--rpc",
        town.url,
        "--contract",
        town.contract,
        "--keystore",
        town.folder / "ann.json",
    ]
    assert_refused("the passphrase does not open", *base, "--passphrase-file", tmp_path / "wrong")
    assert_refused(
        "must hold the passphrase in its first line", *base, "--passphrase-file", tmp_path / "empty"
    )
    assert_refused("a passphrase must be typed at a terminal, or come from --passphrase-file", *base)
    town.refused("there is no motion 77", "ann", "score", 77)
    town.refused("for motion 77 in", "ann", "reveal", 77)
    town.refused("expected a whole number", "ann", "reveal", "x")
    bad = town.file("bad.txt", ["0x12"])
    assert_refused(
        "line 1: an address is 0x",
        *(
            "record",
            "--rpc",
            town.url,
            "--contract",
            town.contract,
            "--supplier",
            town.addresses["sam"],
        ),
        *("--subject", "x", "--roster", bad),
    )
    town.refused(
        "there is no ballot to watch",
        "bob",
        "watch",
        "--contract",
        Contract.deploy(Sender(town.rpc, town.rpc.rich()[0]), 60)[0].address,
    )


def test_deploy_and_key(town: Town, tmp_path: Path) -> None:
    common = [
        "--rpc",
        town.url,
        "--passphrase-file",
        town.folder / "passphrase",
        "--keystore",
        town.folder / "sam.json",
    ]
    dry = run("deploy", *common, "--dry-run")
    assert "nothing was sent" in dry.stdout
    made = run_json("deploy", *common, "--least-window", "5m", "--confirmations", 0)
    assert Contract(HttpRpc(town.url), made["contract"]).view("LEAST_WINDOW") == 300
    path = tmp_path / "new.json"
    made = run_json("key", path, "--passphrase-file", town.folder / "passphrase")
    assert made["address"].startswith("0x")
    assert_refused("is there already", "key", path, "--passphrase-file", town.folder / "passphrase")


def test_a_node_that_talks_nonsense(town: Town) -> None:
    rpc = HttpRpc(town.url)
    with pytest.raises(ValueError, match="refused eth_nothing: the method eth_nothing does not exist"):
        rpc.request("eth_nothing")
    with pytest.raises(RpcError, match="no answer from the node"):
        HttpRpc("http://127.0.0.1:9").chain_id()
