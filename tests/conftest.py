"""One hypothesis profile for all: fixed seeds, no time limits (the machine may be busy)."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "folkmoot", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("folkmoot")
