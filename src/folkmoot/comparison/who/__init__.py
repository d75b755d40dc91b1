"""Who is off, and whether joining is worth it: a row for each participant, and for each group."""

from folkmoot.comparison.who.joining import Joined, JoiningTable, compare_alone
from folkmoot.comparison.who.number_joining import NumberJoined, NumberJoining, compare_numbers_alone
from folkmoot.comparison.who.number_table import NumberRow, NumberTable, describe_numbers
from folkmoot.comparison.who.table import ParticipantRow, ParticipantTable, describe_participants

__all__ = [
    "Joined",
    "JoiningTable",
    "NumberJoined",
    "NumberJoining",
    "NumberRow",
    "NumberTable",
    "ParticipantRow",
    "ParticipantTable",
    "compare_alone",
    "compare_numbers_alone",
    "describe_numbers",
    "describe_participants",
]
