"""The types of arrays, one name each, and of functions that are told how far long work is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
Floats: TypeAlias = npt.NDArray[np.float64]
Singles: TypeAlias = npt.NDArray[np.float32]
Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Classes: TypeAlias = npt.NDArray[np.int8]  # what participants hold, -1 for none
Bytes: TypeAlias = npt.NDArray[np.uint8]
Words: TypeAlias = npt.NDArray[np.uint64]
Features: TypeAlias = npt.NDArray[np.floating[Any]]  # the inputs of models

# Called with how much is done and how much there is; for progress bars.
Progress: TypeAlias = Callable[[int, int], None]
# The same for work of several parts, with the name of the part first.
PartProgress: TypeAlias = Callable[[str, int, int], None]
