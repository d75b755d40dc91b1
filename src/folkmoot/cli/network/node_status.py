"""``folkmoot node status``: how a running node is, its peers and the motions under way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from folkmoot.cli.network.init_node import Folder, check_node
from folkmoot.cli.options import Json
from folkmoot.cli.output import print_json, print_table, say

if TYPE_CHECKING:
    from folkmoot.network.service.status import PeerStatus


def status(folder: Folder, json: Json = False) -> None:
    """Show a running node: peers with latency, motions under way with phase and rounds, budgets, disk."""
    from folkmoot.network.service.asking import Asker
    from folkmoot.network.service.status import as_dict

    check_node(folder)
    now = Asker(folder).status()
    if json:
        print_json(as_dict(now))
        return
    reached = sum(peer.connected for peer in now.peers) + 1
    title = (
        f"{now.node}, folkmoot {now.version}, up {_time(now.seconds)}: {reached} of {now.participants} "
        f"participants connected, a quorum needs {now.quorum}"
    )
    rows = [
        [
            peer.name,
            ("benched" if peer.benched else "connected") if peer.connected else "away",
            "" if peer.latency is None else f"{1000 * peer.latency:.1f} ms",
            "" if peer.skew is None else f"{round(peer.skew, 1) + 0.0:+.1f} s",
            f"{peer.frames:,}",
            f"{peer.refused:,}",
            f"{peer.abstained:,}",
            _asked_today(peer),
        ]
        for peer in now.peers
    ]
    print_table(
        title, ["peer", "state", "latency", "clock", "frames", "refused", "abstained", "asked today"], rows
    )
    (own, most_own), (all_, most), (used, disk) = now.own_motions, now.all_motions, now.disk
    notes = [
        f"motions under way: {all_} of {most}, of its own {own} of {most_own}",
        f"disk: {used / (1 << 20):,.1f} of {disk / (1 << 20):,.0f} MB"
        + ("" if now.has_room else "; NO ROOM for new motions"),
    ]
    if now.sandbox:
        notes.append(f"sandbox of the model: {now.sandbox}")
    if now.epoch:
        notes.append(f"roster: epoch {now.epoch}, digest {now.moot}")
    if now.audit[0]:
        notes.append(f"audit log: {now.audit[0]:,} entries, head {now.audit[1][:16]}")
    if not now.present:
        notes.append("NOT IN THE ROSTER IN FORCE: it ends what is under way, and cannot ask any more")
    notes += [
        f"proposed roster {each.proposal[:12]}: {each.counted} of {each.needed} signatures; "
        "folkmoot roster status shows it"
        for each in now.proposals
    ]
    notes += [
        f"check rows for {each.inputs:,} inputs: {len(each.sent)} sent some, {len(each.refused)} none, "
        f"{len(each.owing)} have not answered; {max(0.0, each.remaining):.1f} s left"
        for each in now.invitations
    ]
    motions = [
        [
            motion.motion[:12],
            motion.asker,
            motion.protocol,
            motion.phase,
            f"{motion.inputs:,}",
            f"{motion.round} of {motion.rounds}",
            f"{motion.closes} of {motion.participants or now.participants}",
            f"{max(0.0, motion.remaining):.1f} s",
        ]
        for motion in now.motions
    ]
    if motions:
        print_table(
            "", ["motion", "by", "protocol", "phase", "inputs", "round", "closes", "left"], motions, notes
        )
    else:
        say(*notes)


def _asked_today(peer: PeerStatus) -> str:
    """What a member has put in the last 24 hours, and the most that it may."""
    if not peer.may_ask:
        return "may not"
    (motions, most), (rows, most_rows) = peer.motions_today, peer.rows_today
    told = f"{motions:,}{'' if most is None else f' of {most:,}'} motions"
    return f"{told}, {rows:,}{'' if most_rows is None else f' of {most_rows:,}'} rows"


def _time(seconds: float) -> str:
    whole = int(seconds)
    days, hours, minutes = whole // 86_400, whole // 3600 % 24, whole // 60 % 60
    return (
        f"{days} d {hours} h"
        if days
        else f"{hours} h {minutes} m"
        if hours
        else f"{minutes} m {whole % 60} s"
    )
