"""``Clustering``: the agreed clusters, the weights, and which participants could judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from folkmoot import checks
from folkmoot.arrays import Bools, Floats, Ints
from folkmoot.pictures.canvas import canvas
from folkmoot.pictures.notebook import paragraphs

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class ClusteringWarning(checks.MootWarning):
    """The partitions leave little to agree on; there still is a result."""


@dataclass(frozen=True, eq=False)
class Clustering:
    """The result of ``folkmoot.cluster``.

    Parameters
    ----------
    labels : ndarray of int, shape (object,)
        The agreed cluster of each object, numbered in the order in which they appear; -1 where nobody has
        seen it.
    weights : ndarray of float, shape (participant, participant)
        The weights by which each (row) trusts each (column); a row adds up to 1, and is 0 for the Byzantine.
    judges : ndarray of bool, shape (participant,)
        Participants whose weights come to three effective votes or more. Only they are counted in
        ``labels``, unless there are none. False for the Byzantine.
    agreement : ndarray of float, shape (object,)
        The share of those that count who hold the agreed label at the end.
    held : ndarray of int, shape (participant, object)
        The label that each holds at the end, by the names of ``labels``; -1 for the Byzantine.
    honest : ndarray of bool, shape (participant,)
        Whether it follows the rule.
    effective_votes : ndarray of float, shape (participant,)
        1 for a partition unlike all others, 1/m for each of m copies.
    likeness : ndarray of float, shape (participant,)
        The adjusted Rand index of each revealed partition with ``labels``.
    rounds : int
        The rounds played.
    unanimous : bool
        Whether all that count hold one partition.
    asked_clusters : int
        The number of clusters that was given, or that they agreed to look for.
    given : bool
        Whether it was given.
    suggested_clusters : int
        The number from 2 to 20 after which the spectrum falls most: a hint, not a proof.
    usual_clusters : int
        The weighted median of the numbers that participants have made: another hint.
    names : tuple of str
        Names of the participants.

    Examples
    --------
    >>> from folkmoot import cluster
    >>> truth = [0, 0, 0, 1, 1, 1, 2, 2, 2]
    >>> partitions = [truth[:i] + [(truth[i] + 1) % 3] + truth[i + 1 :] for i in (0, 2, 4, 6, 8)]
    >>> agreed = cluster(partitions + [[0, 1, 2] * 3] * 3, n_clusters=3)
    >>> print(agreed)
    8 participants, 9 objects: 3 clusters of 3, 3, 3 objects (number given)
    not unanimous: on average 71% of the 7 that count hold the agreed label after 10 rounds
    7 of 8 can judge; participants' own partitions have an adjusted Rand index of 0.28 with it on average
    """

    labels: Ints
    weights: Floats
    judges: Bools
    agreement: Floats
    held: Ints
    honest: Bools
    effective_votes: Floats
    likeness: Floats
    rounds: int
    unanimous: bool
    asked_clusters: int
    given: bool
    suggested_clusters: int
    usual_clusters: int
    names: tuple[str, ...]

    @property
    def n_clusters(self) -> int:
        """The number of agreed clusters."""
        return int(self.labels.max()) + 1

    @property
    def unsure(self) -> bool:
        """Whether the number of clusters was agreed on, and the hints at it differ."""
        hints = {self.asked_clusters, self.suggested_clusters, self.usual_clusters}
        return not self.given and len(hints) > 1

    @property
    def counted(self) -> Bools:
        """(participant,): whose labels were counted: the judges, or all honest ones if there are none."""
        return self.judges if self.judges.any() else self.honest

    def __str__(self) -> str:
        seen = self.labels[self.labels >= 0]
        sizes = ", ".join(f"{size:,}" for size in np.bincount(seen))
        number = "number given" if self.given else "number agreed on"
        hint = (
            f"; unsure: the spectrum suggests {self.suggested_clusters}, participants usually made "
            f"{self.usual_clusters}"
            if self.unsure
            else ""
        )
        counted = int(self.counted.sum())
        after = "before any round" if not self.rounds else f"after {_rounds(self.rounds)}"
        agreed = (
            f"unanimous: all {counted} that count hold it {after}"
            if self.unanimous
            else f"not unanimous: on average {self.agreement.mean():.0%} of the {counted} that count hold "
            f"the agreed label {after}"
        )
        unseen = len(self.labels) - len(seen)
        lines = [
            f"{len(self.names)} participants, {len(self.labels):,} objects: {self.n_clusters} clusters of "
            f"{sizes} objects ({number}{hint})",
            agreed,
            f"{int(self.judges.sum())} of {int(self.honest.sum())} can judge; participants' own partitions "
            f"have an adjusted Rand index of {self.likeness[self.honest].mean():.2f} with it on average",
        ]
        if unseen:
            lines.append(f"{unseen:,} objects have no label: nobody that counts has seen them")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain values, for JSON.

        Returns
        -------
        dict of str to object The labels and numbers, and the participants as a list. Each has name, honest,
        anchored, voice, likeness and the share of objects on which it holds the agreed label.
        """
        return {
            "objects": len(self.labels),
            "clusters": self.n_clusters,
            "asked_clusters": self.asked_clusters,
            "given": self.given,
            "suggested_clusters": self.suggested_clusters,
            "usual_clusters": self.usual_clusters,
            "unsure": self.unsure,
            "rounds": self.rounds,
            "unanimous": self.unanimous,
            "mean_agreement": float(self.agreement.mean()),
            "labels": self.labels.tolist(),
            "agreement": self.agreement.tolist(),
            "participants": [
                {
                    "name": name,
                    "honest": bool(self.honest[i]),
                    "anchored": bool(self.judges[i]),
                    "voice": float(self.effective_votes[i]),
                    "likeness": float(self.likeness[i]),
                    "holds": float((self.held[i] == self.labels).mean()) if self.honest[i] else None,
                }
                for i, name in enumerate(self.names)
            ],
        }

    def _repr_html_(self) -> str:
        return paragraphs(str(self).splitlines())

    def plot(self, ax: Any = None) -> Figure:
        """Draw the weights by which each participant trusts each.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            The axes to draw in. Default: a new figure.

        Returns
        -------
        matplotlib.figure.Figure
            The weights as a picture, participants ordered by how much their partition is like the agreed one.
        """
        figure, axes = canvas(ax, (5.2, 4.6))
        order = np.argsort(-self.likeness, kind="stable")
        image = axes.imshow(self.weights[np.ix_(order, order)], cmap="Blues", vmin=0)
        axes.set_xlabel("participants, those most like the agreed clustering first")
        axes.set_ylabel("who weighs them")
        if len(order) <= 40:
            axes.set_xticks(range(len(order)), [self.names[i] for i in order], rotation=90, fontsize=6)
            axes.set_yticks(range(len(order)), [self.names[i] for i in order], fontsize=6)
        figure.colorbar(image, ax=axes, label="weight")
        return figure


def _rounds(count: int) -> str:
    return f"{count} round{'' if count == 1 else 's'}"
