"""Names of resources, references to devices and patterns of products, as the config file may write them."""

from __future__ import annotations

import re

RESOURCE_PREFIX = "nvidia.com/"
MAX_RESOURCE_NAME_BYTES = 63

_SUBDOMAIN = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")
_BARE_UUID = re.compile(r"[0-9a-fA-F]{32}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
# Twenty digits hold every 64-bit number; leading zeros are allowed, and the bound keeps int() cheap.
_NUMBER = re.compile(r"0*[0-9]{1,20}")
_LARGEST_INDEX = 2**64 - 1


def full_resource_name(text: str) -> str:
    """Return a resource's full name, with `nvidia.com/` put in front where it is missing.

    Raises ValueError when the kubelet would refuse the name.
    """
    name = text if text.startswith(RESOURCE_PREFIX) else RESOURCE_PREFIX + text
    length = len(name.encode())
    if length > MAX_RESOURCE_NAME_BYTES:
        start = name[:MAX_RESOURCE_NAME_BYTES]
        raise ValueError(f"the resource name {start}... has {length} bytes; {MAX_RESOURCE_NAME_BYTES} are allowed")
    if not _SUBDOMAIN.fullmatch(name.removeprefix(RESOURCE_PREFIX)):
        raise ValueError(
            f"{name!r} is no resource name; behind {RESOURCE_PREFIX} only lower-case letters, digits, '-' and '.' are "
            "allowed, with a letter or digit at both ends of each part"
        )
    return name


def is_device_reference(text: str) -> bool:
    """Whether a text can name a device: an index, a MIG index `0:1`, or the UUID of a GPU or a MIG device."""
    first, colon, second = text.partition(":")
    if _is_index(first) and (not colon or _is_index(second)):
        return True
    return _is_gpu_uuid(text) or _is_mig_uuid(text)


def matches(pattern: str, text: str) -> bool:
    """Whether a whole text fits a pattern in which `*` stands for any text and all else for itself."""
    # A regular expression would try each way to share out a text among many stars, which takes for ever.
    first, *parts = pattern.split("*")
    if not parts:
        return text == first
    *middle, last = parts
    place, end = len(first), len(text) - len(last)
    if place > end or not text.startswith(first) or not text.endswith(last):
        return False
    for part in middle:
        found = text.find(part, place, end)
        if found < 0:
            return False
        place = found + len(part)
    return True


def _is_index(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None and int(text) <= _LARGEST_INDEX


def _is_gpu_uuid(text: str) -> bool:
    return text.startswith("GPU-") and _is_uuid(text.removeprefix("GPU-"))


def _is_mig_uuid(text: str) -> bool:
    if not text.startswith("MIG-"):
        return False
    rest = text.removeprefix("MIG-")
    # Drivers before 470 name a MIG device by its parent and the numbers of its instances: MIG-GPU-<uuid>/3/0.
    parent, *instances = rest.split("/", 2)
    return _is_uuid(rest) or (len(instances) == 2 and _is_gpu_uuid(parent) and all(map(_is_index, instances)))


def _is_uuid(text: str) -> bool:
    # The original's UUID reader also takes urn:uuid: and braces, so a file with them must load.
    if len(text) == 45 and text[:9].lower() == "urn:uuid:":
        text = text[9:]
    elif len(text) == 38:
        text = text[1:-1]
    return _BARE_UUID.fullmatch(text) is not None
