"""``Picture``: a matplotlib figure that a notebook shows as a picture.

IPython shows a figure as text unless pyplot, or ``%matplotlib inline``, has told it how to draw one. This one
draws itself.
"""

from __future__ import annotations

from io import BytesIO

from matplotlib.figure import Figure


class Picture(Figure):
    """The figure that every ``plot`` of the package returns without axes, to save or to show."""

    def _repr_png_(self) -> bytes:
        """The picture, for IPython; where pyplot is in use, IPython's own way comes first."""
        written = BytesIO()
        self.savefig(written, format="png")
        return written.getvalue()
