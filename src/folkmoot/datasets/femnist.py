"""FEMNIST, the handwriting of thousands of writers, one participant each (section 5.1 of the paper)."""

from __future__ import annotations

import os
import string
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Literal
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.arrays import Array, Bools, Ints, Singles
from folkmoot.datasets.download import Pointer, cache_folder, check_sha256, fetch
from folkmoot.datasets.femnist_files import CLASSES, FemnistRows, open_femnist
from folkmoot.datasets.moot_data import MootData

# Flower Labs' copy of LEAF's FEMNIST on the Hugging Face hub: one file of 200 MB.
FEMNIST_URL = (
    "https://huggingface.co/datasets/flwrlabs/femnist/resolve/main/data/train-00000-of-00001.parquet"
)

Task = Literal["case", "letters", "characters"]

_CHARACTERS = string.digits + string.ascii_uppercase + string.ascii_lowercase  # label c is the c-th of these
_FIRST_LETTER, _FIRST_LOWER = 10, 36


def load_femnist(
    path: str | os.PathLike[str] | None = None,
    *,
    task: Task = "case",
    writers: int | Sequence[str] | None = None,
    test_writers: int | Sequence[str] = 0,
    min_samples: int = 1,
    seed: int = 0,
    cache: str | os.PathLike[str] | None = None,
    url: str = FEMNIST_URL,
    sha256: str | None = None,
    verify: bool = False,
) -> MootData:
    """Load FEMNIST: handwritten characters of 28 x 28 pixels (ink 1, paper 0), one participant per writer.

    ``X`` is float32 with 784 columns. Rows are sorted by writer, then as in the file.

    The sorted names of all writers with at least ``min_samples`` rows of the task are shuffled by ``seed``.
    Training writers are the first, test writers the last. So asking for more of either adds to those there
    were, and neither depends on the order of files.

    LEAF's grouping script writes the first image of nearly every writer twice. The second row of a writer is
    dropped if, and only if, its image and label are those of the first row.

    Parameters
    ----------
    path : str or path-like, optional
        A file or a folder of files: the parquet files of the dataset ``flwrlabs/femnist``, or LEAF's JSON.
        Without it the former is downloaded once (200 MB).
    task : {"case", "letters", "characters"}, default "case"
        ``"case"`` is the paper's: letters only, 0 is lower case, 1 upper case. ``"letters"`` has 52 classes,
        A to Z and then a to z; ``"characters"`` has 62, the digits first.
    writers : int or sequence of str, optional
        Participants: how many to draw, or their names. Default: all that are not tested on.
    test_writers : int or sequence of str, default 0
        Other writers, whose rows go to ``X_test``: how many to draw, or their names.
    min_samples : int, default 1
        The fewest rows of the task with which a writer can be drawn.
    seed : int, default 0
        The same seed draws the same writers.
    cache : str or path-like, optional
        The folder that keeps the download. Default: $FOLKMOOT_DATA, or the user's cache.
    url : str, default the dataset on the Hugging Face hub
        An address to download from, such as a mirror.
    sha256 : str, optional
        The hash that the download must have. Default: the one that its publisher's Git-LFS pointer states.
    verify : bool, default False
        Compute the hash of a cached file again.

    Returns
    -------
    MootData
        The images and who wrote them.

    Raises
    ------
    DownloadError
        If the file is neither in the cache nor to be had; the message says what to do.

    Examples
    --------
    The first call downloads 200 MB.

    >>> from folkmoot.datasets import load_femnist
    >>> data = load_femnist(writers=10, test_writers=5)  # doctest: +SKIP
    >>> data.classes  # doctest: +SKIP
    array(['lower', 'upper'], dtype='<U5')
    >>> len(data.participants)  # doctest: +SKIP
    10
    """
    if task not in ("case", "letters", "characters"):
        raise ValueError(f"task must be 'case', 'letters' or 'characters': got {task!r}")
    least = checks.integer("min_samples", min_samples, least=1)
    source = open_femnist(_downloaded(cache, url, sha256, verify) if path is None else Path(path))
    wanted = source.labels >= (0 if task == "characters" else _FIRST_LETTER)
    sizes = np.bincount(source.codes[wanted], minlength=source.names.size)
    train, test = _draw(source.names, sizes, least, writers, test_writers, checks.generator(seed))
    X, y, groups = _rows(source, wanted, train, task)
    X_test, y_test, groups_test = _rows(source, wanted, test, task) if test.size else (None, None, None)
    return MootData(
        X=X,
        y=y,
        groups=groups,
        feature_names=tuple(f"pixel_{row}_{column}" for row in range(28) for column in range(28)),
        classes=_classes(task),
        description=(
            f"FEMNIST (Caldas et al. 2018, from NIST SD 19), task {task!r}: {train.size} writers"
            + (f", {test.size} others to test" if test.size else "")
        ),
        X_test=X_test,
        y_test=y_test,
        groups_test=groups_test,
    )


def femnist_counts(
    path: str | os.PathLike[str] | None = None, *, cache: str | os.PathLike[str] | None = None
) -> tuple[Array, Ints]:
    """Count how often each writer of FEMNIST wrote each character, to choose writers by.

    No image is decoded.
    """
    source = open_femnist(_downloaded(cache, FEMNIST_URL, None, False) if path is None else Path(path))
    places = source.codes * CLASSES + source.labels
    counts = np.bincount(places, minlength=source.names.size * CLASSES)
    return source.names, counts.reshape(-1, CLASSES)


def _downloaded(cache: str | os.PathLike[str] | None, url: str, sha256: str | None, verify: bool) -> Path:
    return fetch(
        url,
        cache_folder(cache) / "femnist" / PurePosixPath(urlsplit(url).path).name,
        None if sha256 is None else Pointer(check_sha256(sha256), None),
        what="FEMNIST",
        instead='load_femnist("train-00000-of-00001.parquet")',
        # The hub serves the Git-LFS pointer of a file under /raw/ and the file itself under /resolve/.
        pointer_url=url.replace("/resolve/", "/raw/") if "/resolve/" in url else None,
        verify=verify,
    )


def _classes(task: Task) -> Array:
    if task == "case":
        return np.array(["lower", "upper"])
    return np.array(list(_CHARACTERS[_FIRST_LETTER if task == "letters" else 0 :]))


def _rows(source: FemnistRows, wanted: Bools, chosen: Ints, task: Task) -> tuple[Singles, Ints, Array]:
    mine = np.zeros(source.names.size, dtype=np.bool_)
    mine[chosen] = True
    rows = np.flatnonzero(wanted & mine[source.codes])
    rows = rows[np.argsort(source.codes[rows], kind="stable")]
    X = source.images(rows).astype(np.float32)
    np.subtract(255.0, X, out=X)  # paper is white, 255; ink is to be 1
    X /= np.float32(255.0)
    label = source.labels[rows]
    if task == "case":
        label = (label < _FIRST_LOWER).astype(np.int64)
    elif task == "letters":
        label = label - _FIRST_LETTER
    return X, label, source.names[source.codes[rows]]


def _draw(
    names: Array,
    sizes: npt.NDArray[np.integer[Any]],
    least: int,
    writers: int | Sequence[str] | None,
    test_writers: int | Sequence[str],
    rng: np.random.Generator,
) -> tuple[Ints, Ints]:
    """Positions in ``names`` of those who train and those who are tested on, each sorted."""
    train_named = _find("writers", names, sizes, writers)
    test_named = _find("test_writers", names, sizes, test_writers)
    both = np.intersect1d(train_named, test_named)
    if both.size:
        raise ValueError(f"writers and test_writers must be different people: got {names[both[0]]} in both")
    order = rng.permutation(np.flatnonzero(sizes >= least)).astype(np.int64)
    order = order[~np.isin(order, np.concatenate([train_named, test_named]))]
    test = 0 if test_named.size else checks.integer("test_writers", test_writers, least=0)
    if train_named.size:
        train = 0
    elif writers is None:
        train = max(order.size - test, 1)
    else:
        train = checks.integer("writers", writers, least=1)
    if train + test > order.size:
        raise ValueError(
            f"writers and test_writers must satisfy writers + test_writers <= {order.size}, the number with "
            f"at least {least} rows of the task: got {train} + {test}"
        )
    return (
        np.sort(np.concatenate([train_named, order[:train]])),
        np.sort(np.concatenate([test_named, order[order.size - test :]])),
    )


def _find(
    argument: str,
    names: Array,
    sizes: npt.NDArray[np.integer[Any]],
    asked: int | Sequence[str] | None,
) -> Ints:
    """Positions of the writers that ``asked`` names; none if it is a number."""
    if isinstance(asked, str):
        raise TypeError(f"{argument} must be a number or a sequence of names: got the string {asked!r}")
    if asked is None or not isinstance(asked, (Sequence, np.ndarray)):
        return np.empty(0, dtype=np.int64)
    if len(asked) == 0:
        raise ValueError(f"{argument} must name at least one writer: got none")
    position = {name: i for i, name in enumerate(names.tolist()) if sizes[i]}
    for name in asked:
        if name not in position:
            raise ValueError(f"{argument} must name writers that have rows of the task: got {name!r}")
    return np.unique(np.array([position[name] for name in asked], dtype=np.int64))
