"""Planning of k, alpha, rounds and protocol for a moot, by accuracy and cost."""

from folkmoot.planning.limits import BreaksAt, Target
from folkmoot.planning.plan_table import Broadcast, Plan
from folkmoot.planning.planner import plan, plan_for
from folkmoot.planning.setting import PlannedSetting

__all__ = ["BreaksAt", "Broadcast", "Plan", "PlannedSetting", "Target", "plan", "plan_for"]
