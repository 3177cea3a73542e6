"""Where config-manager stands: what it knows, what is in use, what is missing; for probes and the status page. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_core.runtime.probes import Check
from gpu_core.web.program import ProgramView


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What was last seen of the node and done about it. Texts are empty where there is nothing to tell.

    `node` is what the API server says about the node, None before it has said anything. `trouble` is why the node
    cannot be followed, `problem` why what the label asks for is not in place, `signal` what came of the last signal,
    `copy` why no copy of the config can be kept.
    """

    node: str | None = None
    trouble: str = ""
    config: str = ""
    why: str = ""
    problem: str = ""
    signal: str = ""
    copy: str = ""


def checks(standing: Standing) -> tuple[Check, ...]:
    """Return what it takes to be ready: the node was read, and what its label asks for is in place.

    A node that cannot be followed for a while changes nothing about the config, so that alone does not count.
    """
    if standing.node is None:
        node = Check(name="node", ok=False, reason=standing.trouble or "the node has not been read yet")
    else:
        trouble = f"; it cannot be followed at present: {standing.trouble}" if standing.trouble else ""
        node = Check(name="node", ok=True, reason=standing.node + trouble)
    if standing.problem:
        kept = f"; {standing.config} stays in use" if standing.config else ""
        return node, Check(name="config", ok=False, reason=standing.problem.rstrip(".") + kept)
    if not standing.config:
        return node, Check(name="config", ok=False, reason="none was chosen yet")
    without = f". {standing.copy.rstrip('.')}" if standing.copy else ""
    return node, Check(name="config", ok=True, reason=f"{standing.config} is in use: {standing.why}{without}")


def view(standing: Standing, *, node: str, version: str, now: float) -> ProgramView:
    """Return the page's contents; `now` is in seconds since 1970."""
    return ProgramView(
        title="Config manager",
        version=version,
        node=node,
        now=now,
        checks=checks(standing),
        facts=(("Config", standing.config), ("Last signal", standing.signal)),
        config_name=standing.config,
    )
