"""The config file that a program obeys: noticed when it changes, however it was changed, and named to others.

Written, replaced, or behind swapped links: a new config is noticed without a signal.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from gpu_core.config.file.document import MAX_BYTES
from gpu_core.runtime.counters import Counters
from gpu_core.runtime.file_watch import LOOK_AGAIN, DirectoriesWatch, directories_to
from gpu_core.runtime.files import is_unnamed_pipe, read_beginning
from gpu_core.runtime.logs import get_logger
from gpu_core.runtime.metrics import CONFIG
from gpu_core.runtime.probes import Check
from gpu_core.runtime.supervise import EventQueue, Reload

GRACE = 2.0
"""Seconds that a config file may be missing while it is replaced."""


class ConfigFileWatch:
    """Calls `changed` from a thread of its own whenever the file holds something else than before.

    `digest` is the SHA-256 in hexadecimal of what the program uses now, as in `Loaded.config_text_digest`. A file that
    is missing for less than `grace` seconds, or cannot be read for so long, is no change: it is being replaced. Then
    it is said once, and once more when it is back; until then `problem` says so too. Without a `path`, as without a
    config file, there is nothing to watch.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        digest: str,
        changed: Callable[[], object],
        look_again: float = LOOK_AGAIN,
        grace: float = GRACE,
    ) -> None:
        self._path = path
        self._digest = digest
        self._report = changed
        self._interval = look_again
        self._grace = grace
        self._unread_since: float | None = None
        self._problem = ""

    @property
    def problem(self) -> str:
        """Why the file cannot be read, empty when it can be; any thread may ask."""
        return self._problem

    def checks(self) -> tuple[Check, ...]:
        """Return what those who ask whether the program is ready should know; nothing while all is in order."""
        problem = self._problem
        return (Check(name="config", ok=True, reason=problem),) if problem else ()

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Watch while the block runs; a change since `digest` was taken is noticed too."""
        path = self._path
        if path is None:
            yield
            return
        watch = DirectoriesWatch(
            lambda: directories_to(path), lambda: self._look(path), look_again=self._look_again, look_first=True
        )
        watch.start()
        try:
            yield
        finally:
            watch.stop()

    def _look_again(self) -> float:
        if self._unread_since is None or self._problem:
            return self._interval
        return max(0.0, self._unread_since + self._grace - time.monotonic())

    def _look(self, path: Path) -> None:
        try:
            content = read_beginning(path, most=MAX_BYTES + 1)
        except OSError as error:
            self._cannot_read(path, error)
            return
        self._unread_since = None
        if self._problem:
            self._problem = ""
            get_logger().info("The config file can be read again", file=str(path))
        digest = hashlib.sha256(content).hexdigest()
        if digest != self._digest:
            self._digest = digest
            self._report()

    def _cannot_read(self, path: Path, error: OSError) -> None:
        now = time.monotonic()
        if self._unread_since is None:
            self._unread_since = now
        if self._problem or now < self._unread_since + self._grace:
            return
        fact = f"config file {path} cannot be read: {error.strerror or error}; what was loaded from it stays in use"
        get_logger().warning(f"The {fact}. Put the file back, or start the program again without it.")
        self._problem = f"the {fact}"


def config_changes_to(events: EventQueue, file: str, digest: str) -> ConfigFileWatch:
    """Return a watch that asks for a reload whenever a program's config file, if it has one, holds something else.

    The pipe of a shell holds nothing more once it was read.
    """
    reload = Reload("the config file has changed")
    path = Path(file) if file and not is_unnamed_pipe(Path(file)) else None
    return ConfigFileWatch(path, digest=digest, changed=lambda: events.put(reload))


def count_config(counters: Counters, file: str, digest: str) -> None:
    """Note which config file is in use; `digest` is that of its text, and an empty `file` means none."""
    counters.replace(CONFIG, [({"name": config_name(file), "digest": digest if file else ""}, 1.0)])


def config_name(file: str) -> str:
    """Return the name by which a config is known: that of the file at the end of all links, as config-manager sets."""
    if not file:
        return ""
    try:
        return Path(file).resolve().name
    except OSError:
        return Path(file).name
