"""A node without a moot, for tests of its server: motions are decided as soon as a test says so."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from folkmoot.node.account import Account, NamedTerms
from folkmoot.node.service.interface import (
    Accusation,
    Checked,
    Column,
    Invited,
    Live,
    MemberFacts,
    ModelFacts,
    ModelStatus,
    NotFoundError,
    PeerStatus,
    ProposalStatus,
    Record,
    RefusedError,
    RosterChange,
    RosterNews,
    Status,
    Truths,
)
from folkmoot.node.session.terms import Terms
from folkmoot.node.storage.storage import Round
from folkmoot.node.web.server import Page, Server, serve
from folkmoot.node.why import Voter, Why
from folkmoot.node.wire.batch import Batch

DIGEST = "cd" * 32


SPENT = {"requests": 5, "failed": 1, "prompt_tokens": 30, "completion_tokens": 8}  # by the model's service


class Played:
    """Stands for ``Node`` and its archive: each model votes for the label of the input's parity, or not."""

    incarnation = 5

    def __init__(self, members: int = 5, node: str = "north") -> None:
        self.node, self.archive = node, self
        self.names_of = [node, *(f"member-{number:02}" for number in range(1, members))]
        self.away: set[str] = set()
        self.accounts: dict[bytes, Any] = {}
        self.under_way: dict[bytes, Live] = {}
        self.batches: dict[bytes, Batch] = {}
        self.votes: dict[bytes, list[list[str | None]]] = {}  # first votes, by motion
        self.truths: dict[int, str] = {}
        self.accused: list[Accusation] = []
        self.rounds_of: list[Round] = []
        self.model = ModelFacts(
            ["even", "odd"], [Column("x", "mm"), Column("y")], 2, ["labels"], ["plurality"]
        )
        self.refuses = ""  # why nothing can be put
        self.has_room = True
        self._observers: list[Callable[[bytes | None], None]] = []

    # ---- what tests do -------------------------------------------------------------------------

    def tell(self, motion: bytes, truths: Mapping[int, str] | bytes, source: str) -> Any:
        return self._tell(motion, truths, source)

    def happened(self, motion: bytes | None = None) -> None:
        for observer in self._observers:
            observer(motion)

    def goes_on(self, motion: bytes, **changes: Any) -> None:
        self.under_way[motion] = msgspec.structs.replace(self.under_way[motion], **changes)
        self.happened(motion)

    def ends(self, motion: bytes, votes: list[list[str | None]] | None = None, **changes: Any) -> None:
        """The motion is over; ``votes`` are first votes, by member and input."""
        account = self.accounts[motion]
        if votes is None:
            votes = [["even" if i % 2 == 0 else "odd" for i in range(account.inputs)] for _ in self.names_of]
        self.votes[motion] = votes
        self.accounts[motion] = msgspec.structs.replace(account, **{**_decided(account, votes), **changes})
        self.under_way.pop(motion, None)
        self.happened(motion)

    def accuses(self, motion: bytes, name: str) -> None:
        self.accused.append(Accusation(motion.hex(), name, "two values for one slot"))
        if motion in self.under_way:
            self.goes_on(motion, accused=[*self.under_way[motion].accused, name])

    # ---- Archive -------------------------------------------------------------------------------

    def find(self, prefix: str) -> bytes:
        found = [name for name in self.accounts if name.hex().startswith(prefix)]
        if prefix == "last" and self.accounts:
            return list(self.accounts)[-1]
        if len(found) != 1 or len(prefix) < 4:
            raise NotFoundError(f"no motion's name begins with {prefix!r:.80}")
        return found[0]

    def names(self, last: int | None = None) -> list[bytes]:
        return list(self.accounts)[-(last or len(self.accounts)) :]

    def count(self) -> int:
        return len(self.accounts)

    async def account(self, motion: bytes) -> Any:
        return self.accounts[motion]

    async def certificate(self, motion: bytes) -> bytes:
        if not self.accounts[motion].certified:
            raise RefusedError(f"motion {motion.hex()[:12]} has no certificate yet")
        return b"certificate"

    async def rounds(self, _motion: bytes) -> tuple[list[Round], int]:
        return self.rounds_of, len(self.rounds_of)

    async def why(self, motion: bytes, about: int) -> tuple[str, dict[str, Any]]:
        self._check_input(motion, about)
        account, votes = self.accounts[motion], self.votes.get(motion)
        found = Why(
            account.motion, about, account.answers, account.state, account.decisions[about],
            account.why_undecided[about] or "", account.rule, account.least, account.participants,
            account.faults, [
                Voter(name, votes[i][about] if votes else None, None, 1.0, None, "")
                for i, name in enumerate(self.names_of)
            ], True,
        )  # fmt: skip
        return str(found), msgspec.to_builtins(found)

    def _check_input(self, motion: bytes, about: int) -> None:
        inputs = self.accounts[motion].inputs
        if about >= inputs:
            raise ValueError(f"input must be 0 to {inputs - 1}: got {about}")

    async def play(self, motion: bytes) -> str:
        return f"<!doctype html><title>{motion.hex()}</title>"

    def invited(self) -> list[Invited]:
        return []

    def accusations(self, last: int) -> list[Accusation]:
        return self.accused[-last:]

    def evidence(self, about: str, participant: str) -> bytes:
        for each in self.accused:
            if each.motion.startswith(about) and each.participant == participant:
                return b"evidence"
        raise NotFoundError(f"there is no evidence against {participant!r:.80} about {about!r:.40}")

    async def audit(self) -> bytes:
        return b'{"entry":1}\n'

    def records(self) -> dict[str, Record]:
        return {name: Record(1, 2, 0.5) for name in self.names_of if self.truths}

    async def _tell(self, motion: bytes, truths: Mapping[int, str] | bytes, source: str) -> Truths:
        if isinstance(truths, bytes):
            lines = truths.decode().split()[1:]
            truths = {int(line.split(",")[0]): line.split(",")[1] for line in lines}
        for number in truths:
            self._check_input(motion, number)
        self.truths |= truths
        return Truths(motion.hex(), len(truths), self.records(), f"from {source}")

    def roster(self) -> RosterNews:
        members = [MemberFacts(name, "Clinic", "ef" * 32, ["127.0.0.1:1"]) for name in self.names_of]
        n = len(members)
        return RosterNews(0, DIGEST, None, n, self.status().quorum, (n - 1) // 3, members, [0], [], [])

    def roster_file(self, epoch: int | None = None) -> bytes:
        if epoch:
            raise NotFoundError(f"there is no roster of epoch {epoch}")
        return b"# roster\n"

    def propose(self, change: RosterChange) -> tuple[ProposalStatus, bytes]:
        if not any(msgspec.structs.astuple(change)):
            raise ValueError("the roster would stay as it is")
        return self._proposal(change.remove), b"# proposal\n"

    def sign(self, proposal: str | bytes) -> tuple[ProposalStatus, bytes]:
        if isinstance(proposal, str):
            raise NotFoundError(f"no proposal begins with {proposal!r}")
        if proposal != b"# proposal\n":
            raise ValueError("the file must be a proposal")
        return self._proposal([]), proposal + b"# signed\n"

    def _proposal(self, left: list[str]) -> ProposalStatus:
        return ProposalStatus("12" * 32, 1, DIGEST, [], left, [], [], [], [self.node], 1, 4, [])

    # ---- Node ----------------------------------------------------------------------------------

    def facts(self) -> ModelFacts:
        return self.model

    def status(self) -> Status:
        peers = [
            PeerStatus(name, name not in self.away, False, 0.001, 0.02, 7, 0, 0, 1.7e9)
            for name in self.names_of[1:]
        ]
        n = len(self.names_of)
        return Status(
            node=self.node, version="0.3", moot=DIGEST, participants=n, quorum=(n + (n - 1) // 3) // 2 + 1,
            seconds=1.0, peers=peers, motions=[], own_motions=(0, 4), all_motions=(0, 16), waiting=0,
            disk=(1000, 10**9), has_room=self.has_room,
            model=ModelStatus("model.skops", 1.7e9, usage=SPENT),
            accused=[], audit=(3, "ab" * 32), labels=["even", "odd"],
        )  # fmt: skip

    def live(self, motion: bytes) -> Live | None:
        return self.under_way.get(motion)

    def opening(self, motion: bytes) -> dict[str, Any]:
        account = self.accounts[motion]
        return {"asker": account.asker, "inputs": account.inputs, "labels": account.labels}

    def observe(self, observer: Callable[[bytes | None], None]) -> None:
        self._observers.append(observer)

    async def put(self, batch: Batch, terms: Terms) -> bytes:
        return self.begins(batch, terms)

    def begins(self, batch: Batch, terms: Terms) -> bytes:
        """The motion is under way."""
        if self.refuses:
            raise RefusedError(self.refuses)
        known = terms.labels or terms.answers == "text"
        checked = terms if known else msgspec.structs.replace(terms, labels=("even", "odd"))
        checked.check(len(self.names_of))
        name = hashlib.sha256(str(len(self.accounts)).encode()).digest()
        self.batches[name] = batch
        self.accounts[name] = _opened(self, name, batch, checked)
        self.under_way[name] = Live("making first votes", 0, 0, 10.0, [], [])
        self.happened(name)
        return name

    async def check(self, batch: Batch, terms: Terms) -> Checked:
        return Checked(
            len(batch), [], batch.first(6), batch.missing, 0, list(terms.labels) or ["even", "odd"], "", ""
        )

    async def reload(self) -> ModelFacts:
        return self.model

    def counts(self) -> Mapping[str, int]:
        return {"frames_received": 3, "refused_token": 2}


def _opened(played: Played, name: bytes, batch: Batch, terms: Any) -> Any:
    n, inputs = len(played.names_of), len(batch)
    nothing: list[Any] = [None] * inputs
    return Account(
        motion=name.hex(), moot=DIGEST, state="open", asker=played.node, created=1.7e9, opened=1.7e9,
        inputs=inputs, answers=terms.answers, labels=list(terms.labels),
        columns=[column.name for column in batch.schema], rule=terms.used_rule,
        terms=NamedTerms(**msgspec.structs.asdict(terms)), participants=n, faults=(n - 1) // 3,
        quorum=played.status().quorum, least=1, decisions=nothing, shares=nothing, own_votes=nothing,
        first_votes=[{} for _ in nothing], final_votes=[{} for _ in nothing], undecided=inputs,
        why_undecided=["the motion is still open"] * inputs, effective_votes=None, alike=[], took_part=[],
        silent=[], withheld=[], struck=[], abstained={}, refused={}, evidence={}, certified=False,
        invites=False, rows={}, seconds=0.0, rounds=0, bytes_sent=0, bytes_received=0,
        weights={}, fell_back="", why="",
    )  # fmt: skip


def _decided(account: Any, votes: list[list[str | None]]) -> dict[str, Any]:
    """By plurality, as ``Counter`` would."""
    decisions: list[str | None] = []
    tallies: list[dict[str, int]] = []
    for i in range(account.inputs):
        said = [vote[i] for vote in votes if vote[i] is not None]
        tally = {label: said.count(label) for label in account.labels if label in said}
        most = [label for label, count in tally.items() if count == max(tally.values())]
        decisions.append(most[0] if len(most) == 1 else None)
        tallies.append(tally)
    shares = [max(t.values()) / sum(t.values()) if t else None for t in tallies]
    return {
        "state": "decided", "decisions": decisions, "shares": shares, "first_votes": tallies,
        "undecided": decisions.count(None), "certified": True, "seconds": 1.5, "own_votes": votes[0],
        "why_undecided": [None if each else "first votes are tied" for each in decisions],
    }  # fmt: skip


@asynccontextmanager
async def opened(played: Any, folder: Path, **options: Any) -> AsyncIterator[Server]:
    """The server of a node, on this loop."""
    (folder / "node.toml").touch()
    server = await serve(played, folder, **options)
    try:
        yield server
    finally:
        await server.close()


async def told(call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """What a client answers that waits for a node on this loop."""
    return await asyncio.to_thread(call, *arguments, **named)


LOOPBACK = Page("127.0.0.1:0")
