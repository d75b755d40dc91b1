"""Whether a node can take part in motions."""

from __future__ import annotations

from folkmoot.node.service.interface import Status


def why_not_ready(status: Status) -> str:
    """Why a node cannot take part in motions; "" if it can."""
    there = 1 + sum(peer.connected for peer in status.peers)
    if not status.present:
        return "this node is not in the roster in force"
    if there < status.quorum:
        return f"{there} of the {status.quorum} members of a quorum are connected"
    return "" if status.has_room else "there is no room on its disk for new motions"
