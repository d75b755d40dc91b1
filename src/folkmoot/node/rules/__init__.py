"""Public aggregations in integers alone: the same decisions, bit for bit, on every processor."""

from folkmoot.node.rules.dawid_skene import dawid_skene
from folkmoot.node.rules.numbers import median, trimmed_mean
from folkmoot.node.rules.pools import pool
from folkmoot.node.rules.votes import Decided, plurality, weighted

__all__ = ["Decided", "dawid_skene", "median", "plurality", "pool", "trimmed_mean", "weighted"]
