"""UCI heart disease: the patients of four hospitals, which measure differently and miss different things."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from folkmoot import checks
from folkmoot.arrays import Floats
from folkmoot.datasets.download import Pointer, cache_folder, fetch
from folkmoot.datasets.moot_data import MootData

HEART_URL = "https://archive.ics.uci.edu/ml/machine-learning-databases/heart-disease/"
HEART_FEATURES = (
    "age",
    "sex",
    "cp",
    "trestbps",
    "chol",
    "fbs",
    "restecg",
    "thalach",
    "exang",
    "oldpeak",
    "slope",
    "ca",
    "thal",
)
# SHA-256 and size of each hospital's file.
_FILES = {
    "cleveland": Pointer("a74b7efa387bc9d108d7d0115d831fe9b414b29ae7124f331b622b4efa0427c8", 18461),
    "hungarian": Pointer("d1ad108f785768cd3d7e82dc522e6f5a61eea93cccfb3a46ee8076f73fc3d796", 10263),
    "switzerland": Pointer("834a405ccf5b66ab4056bb77794adc8df0b7125186454c0a1d002d33c6c3b314", 4109),
    "va": Pointer("e7c93d8d0d2acdadfa4c5e8de768e2191e7f618b952e29623f1f0d5949ff6b8f", 6737),
}


def load_heart(
    path: str | os.PathLike[str] | None = None,
    *,
    test_size: float = 0.3,
    seed: int = 0,
    cache: str | os.PathLike[str] | None = None,
    url: str = HEART_URL,
) -> MootData:
    """Load UCI heart disease: the patients of four hospitals, with 13 features (NaN where missing).

    ``y`` is 1 if the diagnosis found the disease. Values are as published: all 123 patients of switzerland
    have a cholesterol of 0, which can only mean unknown. Detrano et al. (1989), CC BY 4.0.

    Parameters
    ----------
    path : str or path-like, optional
        A folder with the files ``processed.<hospital>.data`` of cleveland, hungarian, switzerland and va.
        Without it they are downloaded from UCI's archive once (40 kB) and checked against known hashes.
    test_size : float, default 0.3
        The share of each hospital's patients, stratified by diagnosis, that is pooled as the test set; 0
        leaves everybody in ``X``.
    seed : int, default 0
        Draws the test set; the same seed draws the same patients.
    cache : str or path-like, optional
        The folder that keeps the download. Default: $FOLKMOOT_DATA, or the user's cache.
    url : str, default UCI's archive
        The folder to download from, such as a mirror.

    Returns
    -------
    MootData
        The patients and their hospitals.

    Raises
    ------
    DownloadError
        If a file is neither in the cache nor to be had; the message says what to do.
    FileNotFoundError
        If ``path`` lacks one of the files.

    Examples
    --------
    The first call downloads 40 kB.

    >>> from folkmoot.datasets import load_heart
    >>> data = load_heart()  # doctest: +SKIP
    >>> data.X.shape, data.X_test.shape  # doctest: +SKIP
    ((645, 13), (275, 13))
    >>> data.participants  # doctest: +SKIP
    array(['cleveland', 'hungarian', 'switzerland', 'va'], dtype='<U11')
    """
    share = checks.probability("test_size", test_size)
    if share == 1:
        raise ValueError(f"test_size must satisfy 0 <= test_size < 1: got test_size={test_size}")
    rng = checks.generator(seed)
    tables = [_read(file) for file in (_downloaded(cache, url) if path is None else _at_hand(Path(path)))]
    hospitals = np.repeat(np.array(list(_FILES)), [len(table) for table in tables])
    everything = np.concatenate(tables)
    X, y = everything[:, :-1], (everything[:, -1] > 0).astype(np.int64)
    tested = np.zeros(len(y), dtype=np.bool_)
    for hospital in _FILES:
        for diagnosis in (0, 1):
            rows = np.flatnonzero((hospitals == hospital) & (y == diagnosis))
            tested[rng.permutation(rows)[: round(share * rows.size)]] = True
    return MootData(
        X=X[~tested],
        y=y[~tested],
        groups=hospitals[~tested],
        feature_names=HEART_FEATURES,
        classes=np.array(["absent", "present"]),
        description="UCI heart disease (Detrano et al. 1989), four hospitals",
        X_test=X[tested] if tested.any() else None,
        y_test=y[tested] if tested.any() else None,
        groups_test=hospitals[tested] if tested.any() else None,
    )


def _at_hand(folder: Path) -> list[Path]:
    files = [folder.expanduser() / _name(hospital) for hospital in _FILES]
    for file in files:
        if not file.is_file():
            raise FileNotFoundError(f"{file} must hold the patients of a hospital: there is no such file")
    return files


def _downloaded(cache: str | os.PathLike[str] | None, url: str) -> list[Path]:
    folder = cache_folder(cache) / "heart"
    return [
        fetch(
            url.rstrip("/") + "/" + _name(hospital),
            folder / _name(hospital),
            known,
            what="UCI heart disease",
            instead='load_heart("folder of the four processed.*.data files")',
            verify=True,  # they are small
        )
        for hospital, known in _FILES.items()
    ]


def _name(hospital: str) -> str:
    return f"processed.{hospital}.data"


def _read(file: Path) -> Floats:
    """(patient, 13 features and the diagnosis)."""
    rows = []
    columns = len(HEART_FEATURES) + 1
    for number, line in enumerate(file.read_text(encoding="ascii", errors="replace").splitlines(), start=1):
        if not line.strip():
            continue
        fields = [field.strip() for field in line.split(",")]
        if len(fields) != columns:
            raise ValueError(f"{file}, line {number}: must have {columns} columns: got {len(fields)}")
        try:
            row = [np.nan if field == "?" else float(field) for field in fields]
        except ValueError as error:
            raise ValueError(f"{file}, line {number}: must hold numbers or ?: {error}") from None
        if not 0 <= row[-1] <= 4:
            raise ValueError(f"{file}, line {number}: the diagnosis must be 0 to 4: got {fields[-1]}")
        rows.append(row)
    if not rows:
        raise ValueError(f"{file}: must hold at least one patient")
    return np.array(rows)
