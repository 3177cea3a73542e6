"""The admission plugin OwnerReferencesPermissionEnforcement, which real clusters may run: who may set owners."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Any

from fakes.api_objects import Key, Object, RefusedError


def admit_owners(rights: AbstractSet[str] | None, key: Key, new: Object, old: Object | None) -> None:
    """Refuse other owners than before without the rights for it; `rights` are as `delete nodefeatures`.

    To change the owners of an object takes the right to delete it. An owner whose deletion it newly blocks takes the
    right to update the finalizers of that owner.
    """
    if rights is None:
        return
    present, before = _owners(new), _owners(old or {})
    if present == before:
        return
    plural = key.collection.rpartition("/")[2]
    if f"delete {plural}" not in rights:
        raise _forbidden(key, "cannot set an ownerRef on a resource you can't delete")
    blocked = {owner["uid"] for owner in before if owner.get("blockOwnerDeletion")}
    for owner in present:
        finalizers = f"{owner['kind'].lower()}s/finalizers"
        fresh = owner.get("blockOwnerDeletion") and owner["uid"] not in blocked
        if fresh and f"update {finalizers}" not in rights:
            raise _forbidden(
                key,
                "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on",
            )


def _owners(found: Object) -> list[dict[str, Any]]:
    owners: list[dict[str, Any]] = (found.get("metadata") or {}).get("ownerReferences") or []
    return owners


def _forbidden(key: Key, why: str) -> RefusedError:
    return RefusedError(403, "Forbidden", f'{key.collection} "{key.name}" is forbidden: {why}: , <nil>', name=key.name)
