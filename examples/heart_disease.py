"""
Four hospitals and one diagnosis
================================

Learn what four hospitals gain that measure differently: each trains on 70% of its own patients, all agree
on the rest.

``python examples/heart_disease.py [FOLDER]``

FOLDER holds UCI's processed.cleveland.data, processed.hungarian.data, processed.switzerland.data and
processed.va.data; without it they are downloaded once. The test set is the remaining 30% of all four
hospitals together. The hospitals measure differently and miss different columns, so no model does equally
well everywhere.
"""

import sys

from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from folkmoot import ConsensusClassifier, for_table
from folkmoot.datasets import load_heart


def main(folder: str | None = None) -> None:
    data = load_heart(folder, test_size=0.3, seed=0)
    print(data.summary(), end="\n\n")
    for name, plain in {
        "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        "rf": RandomForestClassifier(),
    }.items():
        model = for_table(plain, len(data.feature_names), data.categorical)
        moot = ConsensusClassifier([model], random_state=0)
        moot.fit(data.X, data.y, groups=data.groups)
        print(f"{name}: {moot.report(data.X_test, data.y_test)}", end="\n\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
