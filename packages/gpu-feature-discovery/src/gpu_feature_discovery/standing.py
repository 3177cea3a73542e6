"""Where gpu-feature-discovery stands: what it published, and what is missing; for probes and the page. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpu_core.config.effective import config_text
from gpu_core.config.model import Config
from gpu_core.runtime.probes import Check
from gpu_core.web.frame import ago
from gpu_core.web.program import ProgramView


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What came of the passes so far. Texts are empty where there is nothing to tell.

    `labels` reached `place` at `published`, in seconds since 1970, None before the first time. `problem` is why those
    of the last pass did not, `driver` why it had to do without the driver.
    """

    labels: Mapping[str, str] = field(default_factory=dict)
    place: str = ""
    published: float | None = None
    problem: str = ""
    driver: str = ""


def checks(standing: Standing, now: float) -> tuple[Check, ...]:
    """Return what it takes to be ready: the labels of the last pass were published."""
    if standing.problem:
        return (Check(name="labels", ok=False, reason=standing.problem),)
    if standing.published is None:
        return (Check(name="labels", ok=False, reason="none were published yet"),)
    reason = f"{len(standing.labels)} went to {standing.place} {ago(now - standing.published)} ago"
    if standing.driver:
        reason += f", without those that need the driver: {standing.driver}"
    return (Check(name="labels", ok=True, reason=reason),)


def view(
    standing: Standing,
    config: Config,
    *,
    checks: tuple[Check, ...],
    config_name: str,
    node: str,
    version: str,
    now: float,
) -> ProgramView:
    """Return the page's contents; `now` is in seconds since 1970."""
    return ProgramView(
        title="GPU feature discovery",
        version=version,
        node=node,
        now=now,
        checks=checks,
        facts=(("Destination", standing.place), ("Driver", standing.driver)),
        tables={"Labels": dict(sorted(standing.labels.items()))},
        config_name=config_name,
        config=config_text(config),
    )
