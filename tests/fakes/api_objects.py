"""The objects behind the fake API server: versions, conflicts, merges and the history that watches read."""

from __future__ import annotations

import copy
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fakes.api_faults import Refuse

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Key:
    """Where an object lives: its collection, as `nodes` or `apps/daemonsets`, its namespace (or empty) and name."""

    collection: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Change:
    """One entry of the history."""

    version: int
    type: str
    key: Key
    object: Object


class Store:
    """Objects with resource versions. Every method may be called from any thread; changes wake `condition`."""

    def __init__(self) -> None:
        self.condition = threading.Condition(threading.RLock())
        self._version = 1000
        self._objects: dict[Key, Object] = {}
        self._history: list[Change] = []
        self._oldest = self._version
        self._applied: dict[tuple[Key, str], dict[tuple[str, ...], Any]] = {}

    @property
    def version(self) -> int:
        """The newest resource version."""
        with self.condition:
            return self._version

    def get(self, key: Key) -> Object:
        with self.condition:
            if key not in self._objects:
                raise RefusedError(404, "NotFound", f'{key.collection} "{key.name}" not found', name=key.name)
            return copy.deepcopy(self._objects[key])

    def list(self, collection: str, namespace: str = "") -> list[Object]:
        with self.condition:
            return [copy.deepcopy(found) for key, found in self._sorted() if _within(key, collection, namespace)]

    def create(self, key: Key, body: Object) -> Object:
        with self.condition:
            if key in self._objects:
                raise RefusedError(409, "AlreadyExists", f'{key.collection} "{key.name}" already exists')
            fresh = copy.deepcopy(body)
            metadata = fresh.setdefault("metadata", {})
            metadata["name"] = key.name
            metadata["uid"] = str(uuid.uuid4())
            if key.namespace:
                metadata["namespace"] = key.namespace
            return self._put("ADDED", key, fresh)

    def replace(self, key: Key, body: Object, *, part: str | None = None) -> Object:
        with self.condition:
            current = self.get(key)
            wanted = body.get("metadata", {}).get("resourceVersion")
            if wanted and wanted != current["metadata"]["resourceVersion"]:
                text = f'Operation cannot be fulfilled on {key.collection} "{key.name}": the object has been modified'
                raise RefusedError(409, "Conflict", text)
            if part is not None:
                return self._change(key, {**current, part: body.get(part)})
            fresh = copy.deepcopy(body)
            fresh["metadata"] = {**fresh.get("metadata", {}), **_identity(current)}
            return self._change(key, fresh)

    def merge(self, key: Key, patch: Object, *, part: str | None = None, strategic: bool = False) -> Object:
        with self.condition:
            current = self.get(key)
            wanted = patch.get("metadata", {}).get("resourceVersion")
            if wanted and wanted != current["metadata"]["resourceVersion"]:
                raise RefusedError(409, "Conflict", "the object has been modified")
            if part is not None:
                patch = {part: patch.get(part, {})}
            return self._change(key, _merged(current, patch, strategic=strategic))

    def apply(self, key: Key, body: Object, *, manager: str, force: bool) -> Object:
        """Apply as the server does, simplified: leaves of mappings are owned, lists are leaves."""
        with self.condition:
            leaves = dict(_leaves({name: value for name, value in body.items() if name not in ("apiVersion", "kind")}))
            for (other_key, other), owned in self._applied.items():
                if other_key == key and other != manager and not force:
                    clash = [path for path, value in leaves.items() if path in owned and owned[path] != value]
                    if clash:
                        raise RefusedError(409, "Conflict", f"conflict with {other!r}: {'.'.join(clash[0])}")
            if key not in self._objects:
                self._applied[key, manager] = leaves
                return self.create(key, body)
            current = self.get(key)
            for path in self._applied.get((key, manager), {}):
                if path not in leaves:
                    _remove(current, path)
            for (other_key, _), owned in self._applied.items():
                if other_key == key:
                    for path in leaves:
                        owned.pop(path, None)
            self._applied[key, manager] = leaves
            return self._change(key, _merged(current, body, strategic=False))

    def delete(self, key: Key, *, only: Object | None = None) -> Object:
        """Delete an object; `only` are preconditions on its metadata."""
        with self.condition:
            gone = self.get(key)
            for name, value in (only or {}).items():
                if gone["metadata"].get(name) != value:
                    raise RefusedError(409, "Conflict", f"the precondition on {name} does not hold", name=key.name)
            del self._objects[key]
            for owner in [owner for owner in self._applied if owner[0] == key]:
                del self._applied[owner]
            return self._put("DELETED", key, gone)

    def edit(self, key: Key, change: Callable[[Object], object]) -> Object:
        """Let a test change an object in place."""
        with self.condition:
            current = self.get(key)
            change(current)
            return self._change(key, current)

    def forget_history(self) -> None:
        """Make every resource version so far too old to watch from."""
        with self.condition:
            self._version += 1
            self._oldest = self._version
            self._history.clear()

    def changes_after(self, version: int) -> Sequence[Change] | None:
        """Return the changes after `version`, or None when that is too long ago."""
        with self.condition:
            if version < self._oldest:
                return None
            return [change for change in self._history if change.version > version]

    def _change(self, key: Key, fresh: Object) -> Object:
        unversioned = {**fresh, "metadata": {**fresh["metadata"], "resourceVersion": ""}}
        old = self._objects[key]
        if unversioned == {**old, "metadata": {**old["metadata"], "resourceVersion": ""}}:
            return copy.deepcopy(old)
        return self._put("MODIFIED", key, fresh)

    def _put(self, kind: str, key: Key, fresh: Object) -> Object:
        self._version += 1
        fresh = copy.deepcopy(fresh)
        fresh["metadata"]["resourceVersion"] = str(self._version)
        if kind != "DELETED":
            self._objects[key] = fresh
        self._history.append(Change(self._version, kind, key, fresh))
        self.condition.notify_all()
        return copy.deepcopy(fresh)

    def _sorted(self) -> Iterator[tuple[Key, Object]]:
        yield from sorted(self._objects.items(), key=lambda item: (item[0].namespace, item[0].name))


class RefusedError(Exception):
    """The store refuses; the server answers with this status."""

    def __init__(self, status: int, reason: str, message: str, *, name: str = "") -> None:
        super().__init__(message)
        self.answer = Refuse(status, reason=reason, message=message, name=name)


def _within(key: Key, collection: str, namespace: str) -> bool:
    return key.collection == collection and namespace in ("", key.namespace)


def _identity(current: Object) -> Object:
    return {name: current["metadata"][name] for name in ("name", "namespace", "uid") if name in current["metadata"]}


def _merged(current: Any, patch: Any, *, strategic: bool) -> Any:
    if strategic and isinstance(current, list) and isinstance(patch, list) and all("type" in entry for entry in patch):
        by_type = {entry["type"]: entry for entry in current}
        for entry in patch:
            by_type[entry["type"]] = {**by_type.get(entry["type"], {}), **entry}
        return list(by_type.values())
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    merged = dict(current) if isinstance(current, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = _merged(merged.get(name), value, strategic=strategic)
    return merged


def _leaves(tree: Object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, value in tree.items():
        if isinstance(value, dict) and value:
            yield from _leaves(value, (*path, name))
        else:
            yield (*path, name), value


def _remove(tree: Object, path: tuple[str, ...]) -> None:
    for name in path[:-1]:
        tree = tree.get(name, {})
    tree.pop(path[-1], None)
