"""Data for experiments: loaders that say whose row is whose, synthetic votes, and ways to split a table.

The loaders keep what they downloaded; ``docs/datasets.md`` says where. Large packages are imported when used.
"""

from folkmoot.datasets.digits import load_digits_moot
from folkmoot.datasets.femnist import load_femnist
from folkmoot.datasets.heart import load_heart
from folkmoot.datasets.own_table import read_table
from folkmoot.datasets.splits import split_dirichlet
from folkmoot.datasets.synthetic import homogeneous_votes

__all__ = [
    "homogeneous_votes",
    "load_digits_moot",
    "load_femnist",
    "load_heart",
    "read_table",
    "split_dirichlet",
]
