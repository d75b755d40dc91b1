"""The node that a command talks to: over its door while it runs, else what its folder holds."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from folkmoot.client import Client
    from folkmoot.node.service.interface import Archive


def client_of(node: str, token: Path | None) -> Client:
    """The door of a node that runs."""
    from folkmoot.client import Client

    if "://" not in node and not (Path(node) / "node.toml").is_file():
        raise ValueError(
            f"--node must be the folder of a node, or such as http://127.0.0.1:7700: no node is in {node}"
        )
    if token is not None and "://" not in node:
        raise ValueError(f"--token must be given with --node URL only: the folder {node} needs none")
    return Client(node, "" if token is None else token.read_text(encoding="utf-8").strip())


@contextmanager
def opened(node: str, token: Path | None = None) -> Iterator[Client | Stored]:
    """A node that runs, or the folder of one that does not."""
    from folkmoot.client import NodeAwayError

    client = client_of(node, token)
    try:
        client.access()
    except NodeAwayError:
        if "://" in node:
            raise
    else:
        yield client
        return
    from folkmoot.node.service.archive import open_archive
    from folkmoot.node.service.operation import locked

    with locked(Path(node)), open_archive(Path(node)) as archive:  # so that it is not started meanwhile
        yield Stored(cast("Archive", archive))


class Stored:
    """What the folder of a node that does not run holds, told as ``Client`` tells it."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    def motion(self, motion: str) -> dict[str, Any]:
        """The account of a motion without its inputs."""
        told = self._account(self._archive.find(motion))
        return {key: value for key, value in told.items() if key not in self._archive.forms.by_input}

    def inputs(self, motion: str) -> dict[str, list[Any]]:
        """What came of each input."""
        told = self._account(self._archive.find(motion))
        return {key: told[key] for key in self._archive.forms.by_input}

    def motions(self, last: int = 20) -> dict[str, Any]:
        """The motions, the newest last."""
        from folkmoot.node.storage.database import DamagedError

        found, damaged = [], []
        for name in self._archive.names(last):
            try:
                told = self._account(name)
            except DamagedError as error:
                damaged.append({"motion": name.hex(), "why": str(error)})
            else:
                found.append({k: v for k, v in told.items() if k not in self._archive.forms.by_input})
        invitations = [_plain(each) for each in self._archive.invited()]
        return {
            "motions": found, "count": self._archive.count(), "damaged": damaged, "invitations": invitations
        }  # fmt: skip

    def why(self, motion: str, about: int) -> dict[str, Any]:
        """Why an input got its answer."""
        text, reason = asyncio.run(self._archive.why(self._archive.find(motion), about))
        return {"text": text, "reason": reason}

    def play(self, motion: str) -> str:
        """A page that plays what the node saw of a motion."""
        return asyncio.run(self._archive.play(self._archive.find(motion)))

    def certificate(self, motion: str) -> bytes:
        """The certificate of a motion."""
        return asyncio.run(self._archive.certificate(self._archive.find(motion)))

    def tell(self, motion: str, truths: Mapping[int, str] | str | bytes) -> dict[str, Any]:
        """Tell what was right."""
        given = truths.encode() if isinstance(truths, str) else truths
        return _plain(asyncio.run(self._archive.tell(self._archive.find(motion), given, "the table")))

    def records(self) -> dict[str, Any]:
        """How often each participant was right."""
        return _plain(self._archive.records())

    def evidence(self) -> list[dict[str, Any]]:
        """Who contradicted itself."""
        return [_plain(each) for each in self._archive.accusations(1000)]

    def evidence_file(self, about: str, participant: str) -> bytes:
        """The evidence against a participant."""
        return self._archive.evidence(about, participant)

    def audit(self) -> bytes:
        """The audit log, signed."""
        return asyncio.run(self._archive.audit())

    def roster(self) -> dict[str, Any]:
        """The roster in force, and what is proposed."""
        return _plain(self._archive.roster())

    def roster_file(self, epoch: int | None = None) -> bytes:
        """The roster of an epoch with its signatures."""
        return self._archive.roster_file(epoch)

    def propose(self, **change: list[str]) -> dict[str, Any]:
        """Propose a roster, and sign it."""
        from folkmoot.node.service.interface import RosterChange

        told, file = self._archive.propose(RosterChange(**change))
        return {**_plain(told), "file": file.decode()}

    def sign(self, proposal: str | bytes) -> dict[str, Any]:
        """Sign a proposal."""
        told, file = self._archive.sign(proposal)
        return {**_plain(told), "file": file.decode()}

    def _account(self, name: bytes) -> dict[str, Any]:
        return _plain(asyncio.run(self._archive.account(name)))


def _plain(told: object) -> dict[str, Any]:
    import msgspec

    return dict(msgspec.to_builtins(told))
