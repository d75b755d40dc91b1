"""
101 writers and their letters
=============================

Learn what consensus is worth on real handwriting: 101 writers who share no letter tell upper from lower
case.

``python examples/femnist_letters.py [PATH [WRITERS [TEST_WRITERS]]]``

PATH is a parquet file of flwrlabs/femnist, or LEAF's JSON, or a folder of either; without it the official
file is downloaded once. Each writer trains a random forest on 80% of its letters (section 5.1 of the
paper), learns from the others how good it is, and then trains it on all of them; the test set is all
letters of 100 other people.
"""

import sys
import time

from sklearn.ensemble import RandomForestClassifier

from folkmoot import ConsensusClassifier, Slush, StrongConfidence, deliberate
from folkmoot.datasets import load_femnist


def main(path: str | None = None, writers: str = "101", test_writers: str = "100") -> None:
    data = load_femnist(path, task="case", writers=int(writers), test_writers=int(test_writers), seed=0)
    moot = ConsensusClassifier([RandomForestClassifier()], n_jobs=2, random_state=0)
    started = time.perf_counter()
    moot.fit(data.X, data.y, groups=data.groups)
    fitted = time.perf_counter()
    votes = moot.votes(data.X_test)
    deliberate(votes[:, :1], Slush(10, 6))  # compiles
    voted = time.perf_counter()
    deliberate(votes, Slush(10, 6))
    talked = time.perf_counter() - voted
    print(f"fitting {fitted - started:.1f} s, voting {voted - fitted:.1f} s, Slush {talked:.2f} s\n")
    for protocol in (None, Slush(10, 6), Slush(10, StrongConfidence())):
        moot.set_params(protocol=protocol)
        print(moot.report(data.X_test, data.y_test, stacking=protocol is None), end="\n\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
