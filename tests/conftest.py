"""What every test relies on: how hard Hypothesis searches."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# A slow machine is no failure, so there is no deadline; the same examples in every run make a failure repeatable.
settings.register_profile("tests", deadline=None, derandomize=True, max_examples=60)
settings.register_profile(
    "fuzz", deadline=None, max_examples=20_000, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
settings.load_profile("tests")
