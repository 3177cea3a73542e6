"""How the kubelet treats a plugin that registers: as it should, or as kubelets in trouble do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Registers(StrEnum):
    """What becomes of a valid Register call."""

    SERVED = "served"
    """Dial back, ask for the options, answer, open ListAndWatch; Kubernetes 1.26 and newer."""

    SERVED_LATER = "served later"
    """Answer first, then do the rest; older Kubernetes."""

    REFUSED = "refused"
    """Answer with an error."""

    FORGOTTEN = "forgotten"
    """Answer, and never dial back."""

    UNANSWERED = "unanswered"
    """Leave the call open until its deadline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """How to treat plugins.

    `opens_stream` false dials back and asks for the options, but opens no ListAndWatch. `takes_lists` false finds every
    list too large, which ends its stream. `refusal` is the name of the gRPC status with which a call is refused; Go's
    servers send a plain error as UNKNOWN.
    """

    registers: Registers = Registers.SERVED
    opens_stream: bool = True
    takes_lists: bool = True
    refusal: str = "UNKNOWN"
