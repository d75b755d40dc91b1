"""
XGBoost and LightGBM in one moot
================================

Learn how fitted models of other libraries vote beside scikit-learn's: they take part as they are.

Three owners have fitted three kinds of boosted trees, each on its own rows. ``prefit=True`` takes them
as they are. Needs ``pip install ".[boost]"`` in a checkout.

``python examples/xgboost_models.py``
"""

from __future__ import annotations

from lightgbm import LGBMClassifier
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from xgboost import XGBClassifier

from folkmoot import ConsensusClassifier


def main() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    owners = [slice(0, 120), slice(120, 240), slice(240, 360)]
    kinds = [
        XGBClassifier(n_estimators=40),
        LGBMClassifier(n_estimators=40, verbose=-1),
        HistGradientBoostingClassifier(),
    ]
    fitted = [kind.fit(X[rows], y[rows]) for kind, rows in zip(kinds, owners, strict=True)]
    moot = ConsensusClassifier(fitted, prefit=True)
    print(moot.report(X[360:], y[360:], stacking=False))


if __name__ == "__main__":
    main()
