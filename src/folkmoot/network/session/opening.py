"""Opening: once all votes are fixed, a motion's check rows are named, and their labels told.

The asker opens its **map of owners**, each contributor the **labels** of the rows that it had sent. The
header of the motion has the digest of the map, and the map has what each contributor signed, with a
commitment to its labels. So there is one map and one vector of labels of each contributor that an honest
node takes, and whoever signs another has given evidence against itself. Anybody may relay both.

Two honest nodes can differ in one way only: one has labels that the other lacks. Then it learns from more
rows. That is harmless: what a node makes of check rows decides whom it asks and what it opens the talk with,
as its own holdout does, and no close of another is counted by it.

- The asker opens its map when it has frozen the commitments that it holds, to those whose commitment is
  among them. A participant whose commitment the asker did not hold then is late for everybody
  (``late_at_asker``): so no vote that is listened to was cast by somebody who could know the map from an
  honest asker. An asker that calls a participant late could as well have sent it no inputs.
- A node that has not voted takes no map.
- A contributor opens its labels only if its rows stand in the batch where the map says, as it saw when it
  voted. Else the asker has put other rows in their place: then it says that it does not open them. So does
  one that was started anew meanwhile, and does not know them any more.
- Labels that do not come by the end of the phase are not waited for. Their rows are dropped.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from folkmoot.arrays import Array
from folkmoot.network.session.minutes import MAP, CheckRows, Minutes, Opened
from folkmoot.network.session.phases import Phase
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.forms import LabelForm, NumberForm
from folkmoot.network.wire.review import OwnerMap, claims_form, owners_digest, read_map


@dataclass
class ShownRows:
    """The check rows that this node sent for a motion, and where it met them when it voted."""

    contribution: m.Contribution
    salt: bytes
    labels: bytes  # packed
    places: dict[bytes, int]  # of each row, as it was sent
    met: dict[int, int] = field(default_factory=dict)  # by place in the batch: which of them

    def look(self, start: int, rows: Array) -> None:
        """Remember where own rows stand in a chunk that begins at ``start``."""
        size, data = rows.shape[1] * rows.itemsize, rows.tobytes()
        for i in range(len(rows)):
            known = self.places.get(data[i * size : (i + 1) * size])
            if known is not None:
                self.met[start + i] = known

    def stand_as_in(self, owners: OwnerMap, promised: m.Contribution) -> bool:
        """Whether the map has what this node signed, and all of its rows stand where it says."""
        where, which = owners.rows[self.contribution.node]
        pairs = zip(where.tolist(), which.tolist(), strict=True)
        return promised == self.contribution and all(self.met.get(place) == row for place, row in pairs)


class Opening:
    """The map and the labels of one motion, as one node has them."""

    def __init__(self, header: bytes, minutes: Minutes, shown: ShownRows | None) -> None:
        self._header, self._minutes, self._shown = header, minutes, shown
        self._map: m.Owners | None = None
        self._labels: dict[int, m.Labels] = {}
        self._claims: dict[int, Array] = {}  # colours; or numbers, (row, 1)
        self._told = False  # have own labels been told to all?

    def remember(self, opened: dict[int, Opened]) -> None:
        """What an earlier start of this node had stored."""
        owners = opened.get(MAP)
        if isinstance(owners, m.Owners):
            self._take_map(owners)
            for each in opened.values():
                if isinstance(each, m.Labels):
                    self._take_labels(each)

    # ---- what is owed --------------------------------------------------------------------------

    def lacking(self, live: Iterable[int]) -> set[int]:
        """Whom to remind: the asker of its map, or others if it is gone; contributors of their labels."""
        peers = set(live)
        if self._map is None:
            asker = self._minutes.motion.asker
            return {asker} if asker in peers else peers
        return {place for place in self._missing() if place in peers}

    def ask(self, peer: int) -> None:
        """Ask a peer for what this node lacks."""
        self._minutes.tell(peer, m.Unopened(self._minutes.name, self._have()))

    def open_map(self) -> None:
        """The asker tells its map to those whose commitments it has frozen."""
        minutes = self._minutes
        if self._map is not None and minutes.motion.asker == minutes.seat.place:
            for peer in minutes.others():
                if peer in minutes.commits and peer not in minutes.late:
                    minutes.tell(peer, self._map)

    def open_labels(self) -> None:
        """Tell everybody the labels of own rows, once: if the map is open and they stand as it says."""
        minutes, shown = self._minutes, self._shown
        own = minutes.seat.place
        if self._told or minutes.owners is None or self._is_early() or own not in minutes.owners.rows:
            return
        known = self._labels.get(own)
        if known is None:
            known = self._own_labels(bytes(32), b"")  # it was started anew, or they stand elsewhere
            promised = self._contribution(own)
            if shown is not None and shown.stand_as_in(minutes.owners, promised):
                known = self._own_labels(shown.salt, shown.labels)
            self._take_labels(known)
            minutes.saves.append(known)
        self._told = True
        minutes.tell_all(known)

    # ---- what is learnt from ---------------------------------------------------------------------

    def checked(self) -> CheckRows | None:
        """The rows whose labels are open; those of proven cheats and of who vanished are dropped."""
        minutes = self._minutes
        if minutes.owners is None:
            return None
        rows, truth, publisher = [], [], []
        vanished = []
        for place, (where, which) in sorted(minutes.owners.rows.items()):
            told = self._claims.get(place)
            if told is None or place in minutes.cheats:
                vanished += [place] * (told is None)
                continue
            rows.append(where)
            truth.append(told[which])
            publisher.append(np.full(len(where), place))
        nothing = np.zeros(0, dtype=np.int64)
        where, whose = (np.concatenate([nothing, *each]) for each in (rows, publisher))
        claims = np.concatenate([self._form_of(0).nothing(0), *truth])
        return CheckRows(where, claims, whose, tuple(vanished))

    # ---- messages ------------------------------------------------------------------------------

    def on_owners(self, message: m.Owners) -> bool:
        """A map, from whoever relays it; whether it is new and the one of the header."""
        minutes, review = self._minutes, self._minutes.motion.review
        if review is None or not review.asked or minutes.voted is None:
            return False
        if message.node != minutes.motion.asker or message.node == minutes.seat.place:
            return False
        right = owners_digest(message.seed, message.owned) == review.owners
        if self._map is not None if right else message.node in minutes.cheats:
            return False
        if not statements.holds(
            minutes.seat.keys[message.node], message.signature, statements.opens_owners(message)
        ):
            return False
        if not right:
            minutes.accuse(message.node, statements.BrokenOwners(self._header, message))
            return True
        if not self._take_map(message):
            return False
        minutes.saves.append(message)
        self.open_labels()
        return True

    def on_labels(self, message: m.Labels) -> bool:
        """Labels of a contributor, from whoever relays them; whether they are new and as they should be."""
        minutes, review, place = self._minutes, self._minutes.motion.review, message.node
        if review is None or minutes.owners is None or place not in minutes.owners.rows:
            return False
        known = self._labels.get(place)
        same = known is not None and known.labels == message.labels
        if place == minutes.seat.place or message.invite != review.invite or same:
            return False
        signed = statements.opens_labels(message)
        if not statements.holds(minutes.seat.keys[place], message.signature, signed):
            return False
        if message.labels and not self._is_promised(message):
            fingerprint = minutes.seat.fingerprints[place]
            proof = statements.BrokenLabels(self._contribution(place), message, fingerprint)
            minutes.accuse(place, proof)
            return True
        if known is not None and not message.labels:  # it had opened them before
            return False
        if not self._take_labels(message):
            return False
        if known is None:
            minutes.saves.append(message)
        return True

    def on_unopened(self, peer: int, message: m.Unopened) -> None:
        """A peer lacks the map, or labels."""
        minutes = self._minutes
        self.open_labels()
        if self._map is None or self._is_early() or not self._may_know(peer):
            minutes.tell(peer, m.Pending(minutes.name))
            return
        if not message.have:
            minutes.tell(peer, self._map)
        held = np.unpackbits(np.frombuffer(message.have, np.uint8), bitorder="little")
        for place, labels in self._labels.items():
            if place != peer and not (place < held.size and held[place]):
                minutes.tell(peer, labels)

    # ---- how it is checked ---------------------------------------------------------------------

    def _take_map(self, message: m.Owners) -> bool:
        """Go by a map; False if it cannot be one, or nobody has signed what it says of a contributor."""
        minutes, review = self._minutes, self._minutes.motion.review
        assert review is not None  # noqa: S101
        try:
            owners = read_map(message.seed, review, message.owned, minutes.motion.inputs, minutes.seat.n)
        except ValueError:
            return False
        self._map, minutes.owners = message, owners
        for each in message.owned:
            said = statements.contributed(review.invite, each.contribution)
            key = minutes.seat.keys[each.contribution.node]
            if not statements.holds(key, each.contribution.signature, said):
                del owners.rows[each.contribution.node]  # made up by the asker: nobody vouches for the rows
        return True

    def _take_labels(self, message: m.Labels) -> bool:
        minutes = self._minutes
        if minutes.owners is None or message.node not in minutes.owners.rows:
            return False
        if message.labels:
            form = self._form_of(self._contribution(message.node).rows)
            try:
                told = form.unpack(message.labels)
            except ValueError:
                return False
            if (told == form.nothing(1)[0]).any() or np.isnan(told).any():
                return False
            self._claims[message.node] = told
        self._labels[message.node] = message
        return True

    def _form_of(self, rows: int) -> LabelForm | NumberForm:
        motion = self._minutes.motion
        return claims_form(motion.answers, rows, motion.classes)

    def _is_promised(self, message: m.Labels) -> bool:
        fingerprint = self._minutes.seat.fingerprints[message.node]
        found = statements.commitment_to(message.invite, fingerprint, message.salt, message.labels)
        return found == self._contribution(message.node).commitment

    def _contribution(self, place: int) -> m.Contribution:
        assert self._map is not None  # noqa: S101
        found = (each.contribution for each in self._map.owned)
        return next(each for each in found if each.node == place)

    def _own_labels(self, salt: bytes, labels: bytes) -> m.Labels:
        minutes, review = self._minutes, self._minutes.motion.review
        assert review is not None  # noqa: S101
        bare = m.Labels(minutes.name, review.invite, minutes.seat.place, salt, labels, bytes(64))
        signature = minutes.seat.key.sign(statements.opens_labels(bare))
        return m.Labels(minutes.name, review.invite, minutes.seat.place, salt, labels, signature)

    def _missing(self) -> set[int]:
        owners = self._minutes.owners
        return set() if owners is None else owners.rows.keys() - self._labels.keys()

    def _have(self) -> bytes:
        if self._map is None:
            return b""
        bits = np.zeros(self._minutes.seat.n, dtype=np.uint8)
        bits[list(self._labels)] = 1
        return np.packbits(bits, bitorder="little").tobytes()

    def _is_early(self) -> bool:
        """Whether commitments are still gathered here: what is open elsewhere is not told on yet."""
        return self._minutes.phase in (Phase.VOTING, Phase.GATHERING)

    def _may_know(self, peer: int) -> bool:
        """Who committed in time; the others when the talk has begun."""
        minutes = self._minutes
        in_time = peer in minutes.commits and peer not in minutes.late
        return in_time or minutes.phase is not Phase.REVEALING
