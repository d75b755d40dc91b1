"""Files of FEMNIST's schema that the experiments can learn from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from support.femnist_samples import Row, learnable_rows, write_parquet


@pytest.fixture(scope="session")
def letters(tmp_path_factory: pytest.TempPathFactory) -> str:
    """40 writers with 60 rows each; three more wrote lower case only."""
    rows = learnable_rows([f"f{i:04d}" for i in range(40)])
    rows += [Row(f"x{i}", 40 + i, row.gray) for i in range(3) for row in rows[:30]]
    return str(_written(tmp_path_factory, rows))


@pytest.fixture(scope="session")
def many_writers(tmp_path_factory: pytest.TempPathFactory) -> str:
    """112 writers with 30 blank letters each."""
    blank = np.full((28, 28), 255, dtype=np.uint8)
    rows = [Row(f"w{i:03d}", 10 + (j + i) % 52, blank) for i in range(112) for j in range(0, 60, 2)]
    return str(_written(tmp_path_factory, rows))


def _written(factory: pytest.TempPathFactory, rows: list[Row]) -> Path:
    return write_parquet(factory.mktemp("femnist") / "letters.parquet", rows, row_group_size=500)
