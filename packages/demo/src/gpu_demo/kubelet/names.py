"""Which registrations a kubelet accepts: the API version, and what an extended resource may be called."""

from __future__ import annotations

import re

VERSION = "v1beta1"

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")

# Quotas name an extended resource with this in front, and that name has to fit too.
_QUOTA_PREFIX = "requests."


def complaint(*, version: str, resource: str) -> str | None:
    """Say what a kubelet has against a registration; None when nothing."""
    if version != VERSION:
        return f"API version {version!r} is not supported by this kubelet, which speaks {VERSION}"
    if not is_extended_resource(resource):
        return f"{resource!r} is no name of an extended resource: it needs a domain, as in example.com/gpu"
    return None


def is_extended_resource(name: str) -> bool:
    """Tell whether a name is `domain/name`, outside kubernetes.io, and legal also as a quota's name."""
    domain, slash, local = name.partition("/")
    if not slash or "kubernetes.io/" in name or name.startswith(_QUOTA_PREFIX):
        return False
    domain = _QUOTA_PREFIX + domain
    return (
        len(domain) <= 253
        and _SUBDOMAIN.fullmatch(domain) is not None
        and len(local) <= 63
        and _NAME.fullmatch(local) is not None
    )
