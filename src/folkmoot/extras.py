"""What folkmoot can do with more packages than it needs, and the line to type where they are missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["EXTRAS", "Extra", "ExtraName", "to_install"]

ExtraName = Literal["boost", "data", "gpu", "gpu12", "onnx", "page", "ray", "torch", "uvloop"]


@dataclass(frozen=True)
class Extra:
    """One of the ``[project.optional-dependencies]`` that users may want.

    Parameters
    ----------
    modules : tuple of str
        The modules that it brings, by the names under which they are imported.
    purpose : str
        What it is for.

    Examples
    --------
    >>> from folkmoot.extras import EXTRAS
    >>> EXTRAS["onnx"].modules
    ('onnxruntime',)
    """

    modules: tuple[str, ...]
    purpose: str


EXTRAS: Final[dict[ExtraName, Extra]] = {
    "boost": Extra(("lightgbm", "xgboost"), "boosted trees in experiments/"),
    "data": Extra(("pooch", "pyarrow"), "downloads of datasets, and parquet files"),
    "gpu": Extra(("cupy",), "talks on a GPU, by CUDA 13: device='cuda'"),
    "gpu12": Extra(("cupy",), "the same by CUDA 12"),
    "onnx": Extra(("onnxruntime",), "nodes with a model in an .onnx file"),
    "page": Extra(("prometheus_client", "starlette", "uvicorn"), "a node's socket, page and metrics"),
    "ray": Extra(("ray",), "experiments/ on a Ray cluster"),
    "torch": Extra(("torch",), "convolutional networks in experiments/"),
    "uvloop": Extra(("uvloop",), "a faster event loop for nodes"),
}


def to_install(extra: ExtraName) -> str:
    """Return the line that installs an extra.

    Parameters
    ----------
    extra : str
        Its name.

    Returns
    -------
    str
        What to type.

    Examples
    --------
    >>> from folkmoot.extras import to_install
    >>> to_install("page")
    'pip install "folkmoot[page]"'
    """
    return f'pip install "folkmoot[{extra}]"'
