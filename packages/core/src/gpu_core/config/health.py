"""The section `health` of the configuration: every key, its default and its meaning, once."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_core.config.duration import Duration
from gpu_core.config.keys import Constraint, key
from gpu_core.config.words import RecoveryMode, XidDefaults


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """`health`: what makes a device unhealthy and what makes it healthy again. DP_*_HEALTHCHECKS variables win."""

    xid_policy: XidDefaults = key(
        "xidPolicy",
        "Which XIDs change nothing by default: the few of NVIDIA's own plugin, or those after which NVIDIA's XID "
        "catalogue wants the application restarted or nothing done.",
        default=XidDefaults.ORIGINAL,
        ours=True,
    )
    ignored_xids: tuple[int, ...] = key(
        "ignoredXIDs", "XIDs that change nothing, besides those of `xidPolicy`.", default=(), ours=True
    )
    fatal_xids: tuple[int, ...] = key(
        "fatalXIDs",
        "XIDs that make a device unhealthy, whatever `xidPolicy` and `ignoredXIDs` say.",
        default=(),
        ours=True,
    )
    probe_interval: Duration = key(
        "probeInterval",
        "How often each GPU is asked whether it still answers; 100ms is the least.",
        default=Duration.of(seconds=10),
        ours=True,
        constraint=Constraint.POSITIVE,
    )
    recovery: RecoveryMode = key(
        "recovery", "What brings an unhealthy device back.", default=RecoveryMode.DRIVER, ours=True
    )
    recovery_quiet_time: Duration = key(
        "recoveryQuietTime",
        "How long an unhealthy device has to answer without a new fault before it is healthy again.",
        default=Duration.of(seconds=60),
        ours=True,
        constraint=Constraint.NOT_NEGATIVE,
    )
