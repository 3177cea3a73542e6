"""Notices that a file's content has changed, however it was changed: written, replaced, or behind swapped links.

Every program watches its config file with this, so a new config is noticed without a signal. inotify wakes the
watch, and a look every minute makes up for what inotify does not tell, as on some network and overlay volumes.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import select
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from gpu_core.runtime.links import places
from gpu_core.runtime.passing import is_passing

LOOK_AGAIN = 60.0
"""Seconds between two looks while inotify is silent."""

LOOK_WITHOUT_INOTIFY = 5.0
"""Seconds between two looks where inotify is not to be had."""

SETTLE = 0.1
"""Seconds that a burst of changes is given to end; what Kubernetes does to a volume takes a few milliseconds."""


class DirectoriesWatch:
    """Calls `changed` from a thread of its own whenever something changes directly in one of the directories.

    What programs of ours make under passing names, to rename it when it is whole, is no change.
    `directories` is asked again after every change, as links may lead elsewhere by then. Those that do not exist
    are left out; name the directory above them too.
    """

    def __init__(
        self,
        directories: Callable[[], Iterable[Path]],
        changed: Callable[[], object],
        *,
        look_again: float = LOOK_AGAIN,
        settle: float = SETTLE,
    ) -> None:
        self._directories = directories
        self._changed = changed
        self._look_again = look_again
        self._settle = settle
        self._wake, self._waker = os.pipe()
        self._thread = threading.Thread(target=self._run, name="directories-watch", daemon=True)
        self._ready = threading.Event()

    def start(self) -> None:
        """Start watching; changes after the return are noticed."""
        self._thread.start()
        self._ready.wait()

    def stop(self) -> None:
        """Stop watching and wait for the thread's end."""
        os.write(self._waker, b"x")
        self._thread.join()
        os.close(self._wake)
        os.close(self._waker)

    def _run(self) -> None:
        from inotify_simple import INotify  # noqa: PLC0415  only programs that watch something pay for it

        try:
            inotify = INotify()
        except OSError:
            # The kernel allows each user so many; the regular look, more often, has to do.
            self._ready.set()
            while not self._stopped_within(min(self._look_again, LOOK_WITHOUT_INOTIFY)):
                self._changed()
            return
        with inotify:
            self._listen(inotify)

    def _listen(self, inotify: Any) -> None:
        watched: frozenset[int] = frozenset()
        while True:
            followed = _follow(inotify, watched, self._directories())
            first = not self._ready.is_set()
            self._ready.set()
            if not first and not followed <= watched:
                # What happened in a directory before it was watched told us nothing.
                self._changed()
            watched = followed
            readable, _, _ = select.select([inotify, self._wake], [], [], self._look_again)
            if self._wake in readable or (readable and self._stopped_within(self._settle)):
                return
            changes = inotify.read(timeout=0)
            # What is being made is no news until it has its own name. Without this, one who tries in vain to change
            # something where it watches would wake itself to try again, without end.
            if not changes or not all(is_passing(change.name) for change in changes):
                self._changed()

    def _stopped_within(self, seconds: float) -> bool:
        readable, _, _ = select.select([self._wake], [], [], seconds)
        return bool(readable)


def _follow(inotify: Any, watched: frozenset[int], wanted: Iterable[Path]) -> frozenset[int]:
    """Watch what is wanted and exists instead of `watched`; return the numbers of the watches.

    Adding a directory again returns the same number; a new directory at an old path gets another.
    """
    from inotify_simple import flags  # noqa: PLC0415

    contents = flags.CREATE | flags.DELETE | flags.MOVED_FROM | flags.MOVED_TO | flags.CLOSE_WRITE | flags.ATTRIB
    mask = contents | flags.DELETE_SELF | flags.MOVE_SELF | flags.ONLYDIR
    fresh = set()
    for directory in wanted:
        with contextlib.suppress(OSError):
            fresh.add(inotify.add_watch(directory, mask))
    for number in watched - fresh:
        with contextlib.suppress(OSError):
            inotify.rm_watch(number)
    return frozenset(fresh)


class ConfigFileWatch:
    """Calls `changed` from a thread of its own whenever the file holds something else than before.

    `digest` is the SHA-256 in hexadecimal of what the program uses now, as in `Loaded.config_text_digest`. A file
    that is missing for a while, or cannot be read, is no change.
    """

    def __init__(
        self, path: Path, *, digest: str, changed: Callable[[], object], look_again: float = LOOK_AGAIN
    ) -> None:
        self._path = path
        self._digest = digest
        self._report = changed
        self._watch = DirectoriesWatch(lambda: places(path), self._compare, look_again=look_again)

    def start(self) -> None:
        """Start watching; a change since `digest` was taken is noticed too."""
        self._compare()
        self._watch.start()
        self._compare()

    def stop(self) -> None:
        """Stop watching and wait for the thread's end."""
        self._watch.stop()

    def _compare(self) -> None:
        try:
            content = self._path.read_bytes()
        except OSError:
            return
        digest = hashlib.sha256(content).hexdigest()
        if digest != self._digest:
            self._digest = digest
            self._report()
