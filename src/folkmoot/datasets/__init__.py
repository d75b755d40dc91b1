"""Data for experiments: loaders that say whose row is whose, synthetic votes, and ways to split a table.

The loaders keep what they downloaded; ``docs/datasets.md`` says where. Large packages are imported when used.
"""

from folkmoot.datasets.digits import load_digits_moot
from folkmoot.datasets.download import DownloadError
from folkmoot.datasets.femnist import femnist_counts, load_femnist
from folkmoot.datasets.heart import load_heart
from folkmoot.datasets.moot_data import MootData
from folkmoot.datasets.own_table import read_table
from folkmoot.datasets.splits import Split, split_by_group, split_dirichlet, split_quantity, split_shards
from folkmoot.datasets.summary import Summary
from folkmoot.datasets.synthetic import (
    SyntheticVotes,
    beta_accuracies,
    beta_parameters,
    beta_votes,
    group_votes,
    homogeneous_votes,
)

__all__ = [
    "DownloadError",
    "MootData",
    "Split",
    "Summary",
    "SyntheticVotes",
    "beta_accuracies",
    "beta_parameters",
    "beta_votes",
    "femnist_counts",
    "group_votes",
    "homogeneous_votes",
    "load_digits_moot",
    "load_femnist",
    "load_heart",
    "read_table",
    "split_by_group",
    "split_dirichlet",
    "split_quantity",
    "split_shards",
]
