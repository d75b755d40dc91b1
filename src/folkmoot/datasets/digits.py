"""Scikit-learn's small handwritten digits, shared out among participants; nothing is downloaded."""

from __future__ import annotations

import numpy as np

from folkmoot import checks
from folkmoot.datasets.moot_data import MootData
from folkmoot.datasets.splits import split_dirichlet


def load_digits_moot(
    n_participants: int = 101, alpha_dirichlet: float = 1.0, seed: int = 0, test_size: float = 0.25
) -> MootData:
    """Load scikit-learn's 1,797 digits of 8 x 8 pixels (ink from 0 to 1), non-iid over the participants.

    Part of the rows, stratified by digit, is set aside as the test set; the others are split by Dirichlet
    label skew (``split_dirichlet``). The draw is repaired by moving single rows until everyone has at least
    two rows of two different digits, to train a classifier. With the default arguments no row has to move.
    Nothing is downloaded.

    Parameters
    ----------
    n_participants : int, default 101
        The number of participants.
    alpha_dirichlet : float, default 1.0
        How even the split is: a small number leaves each participant few digits, a large one gives all the
        same mix.
    seed : int, default 0
        The same seed gives the same data.
    test_size : float, default 0.25
        The share of the rows that is set aside.

    Returns
    -------
    MootData
        The digits and whose they are.

    Examples
    --------
    >>> from folkmoot.datasets import load_digits_moot
    >>> data = load_digits_moot(n_participants=5)
    >>> data.X.shape, data.X_test.shape
    ((1347, 64), (450, 64))
    >>> data.participants
    array([0, 1, 2, 3, 4])
    """
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    share = checks.probability("test_size", test_size)
    state = checks.integer("seed", seed, least=0)
    n = checks.integer("n_participants", n_participants, least=1)
    digits = load_digits()
    X, y = digits.data / 16.0, digits.target.astype(np.int64)
    if not 10 <= round(share * len(y)) <= len(y) - max(10, 2 * n):
        raise ValueError(
            "test_size must leave 10 rows to test and two rows per participant to train: "
            f"got test_size={test_size}, n_participants={n}, {len(y)} rows"
        )
    X, X_test, y, y_test = train_test_split(X, y, test_size=share, stratify=y, random_state=state)
    split = split_dirichlet(y, n, alpha_dirichlet, state, min_rows=2, min_classes=2)
    return MootData(
        X=X,
        y=y,
        groups=split.groups(len(y)),
        feature_names=tuple(digits.feature_names),
        classes=digits.target_names.copy(),
        description=(
            f"scikit-learn's digits over {n} participants by Dirichlet({alpha_dirichlet}) label skew, "
            f"seed {state}"
        ),
        X_test=X_test,
        y_test=y_test,
    )
