"""Notices that something changes in directories, among them those that decide what a path leads to.

inotify wakes the watch, and a look every minute makes up for what it does not tell, as on some network and overlay
volumes.
"""

from __future__ import annotations

import contextlib
import os
import select
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from gpu_core.passing import is_passing
from gpu_core.runtime.logs import get_logger

LOOK_AGAIN = 60.0
"""Seconds between two looks while inotify is silent."""

LOOK_WITHOUT_INOTIFY = 5.0
"""Seconds between two looks where inotify is not to be had."""

SETTLE = 0.1
"""Seconds that a burst of changes is given to end; what Kubernetes does to a volume takes a few milliseconds."""


LONGEST_START = 5.0
"""Seconds that a start waits for the watch, which looks through links that may lead to a server that is silent."""

LONGEST_STOP = 2.0
"""Seconds that a stop waits for the watch, which may be looking through such links."""

MOST_LINKS = 40
"""How many links are followed before the path counts as circular, as the kernel does."""


class DirectoriesWatch:
    """Calls `changed` from a thread of its own whenever something changes directly in one of the directories.

    What programs of ours make under passing names, to rename it when it is whole, is no change.
    `directories` is asked again after every change, as links may lead elsewhere by then. Those that do not exist
    are left out; name the directory above them too. `look_again` tells after how many seconds `changed` is called
    without a change. With `look_first` it is called once as soon as the watch has begun.
    """

    def __init__(
        self,
        directories: Callable[[], Iterable[Path]],
        changed: Callable[[], object],
        *,
        look_again: Callable[[], float] = lambda: LOOK_AGAIN,
        settle: float = SETTLE,
        look_first: bool = False,
    ) -> None:
        self._directories = directories
        self._changed = changed
        self._look_again = look_again
        self._settle = settle
        self._look_first = look_first
        self._wake, self._waker = os.pipe()
        self._thread = threading.Thread(target=self._run, name="directories-watch", daemon=True)
        self._ready = threading.Event()

    def start(self) -> None:
        """Start watching; changes after the return are noticed. It returns after `LONGEST_START` at the latest."""
        self._thread.start()
        self._ready.wait(LONGEST_START)

    def stop(self) -> None:
        """Stop watching, and wait for the thread's end, `LONGEST_STOP` at the most."""
        os.write(self._waker, b"x")
        self._thread.join(LONGEST_STOP)
        if not self._thread.is_alive():
            os.close(self._wake)
            os.close(self._waker)

    def _run(self) -> None:
        try:
            from inotify_simple import INotify  # noqa: PLC0415  only programs that watch something pay for it

            with INotify() as inotify:
                self._listen(inotify)
        except Exception as error:  # noqa: BLE001  A watch that ends unseen would let programs miss every change.
            # The kernel allows each user so many; the regular look, more often, has to do.
            get_logger().warning(
                f"Changes are looked for every {LOOK_WITHOUT_INOTIFY:g} s, as inotify cannot tell of them. Raise "
                "fs.inotify.max_user_instances and fs.inotify.max_user_watches on the node if they are used up.",
                reason=str(error),
            )
            self._look_regularly()

    def _look_regularly(self) -> None:
        if self._look_first:
            self._tell()
        self._ready.set()
        while not self._woken(min(self._look_again(), LOOK_WITHOUT_INOTIFY)):
            self._tell()

    def _listen(self, inotify: Any) -> None:
        watched: frozenset[int] = frozenset()
        look = self._look_first
        while True:
            followed = _follow(inotify, watched, self._directories())
            if look or (self._ready.is_set() and not followed <= watched):
                # What happened in a directory before it was watched told us nothing.
                self._tell()
            look = False
            self._ready.set()
            watched = followed
            readable = _readable((inotify.fileno(), self._wake), self._look_again())
            if self._wake in readable or (readable and self._woken(self._settle)):
                return
            changes = inotify.read(timeout=0)
            # What is being made is no news until it has its own name. Without this, one who tries in vain to change
            # something where it watches would wake itself to try again, without end.
            if not changes or not all(is_passing(change.name) for change in changes):
                self._tell()

    def _tell(self) -> None:
        try:
            self._changed()
        except Exception as error:  # noqa: BLE001  A fault of who listens must not end the watch.
            get_logger().error("A change could not be followed", exc_info=error)

    def _woken(self, seconds: float) -> bool:
        return bool(_readable((self._wake,), seconds))


def _readable(descriptors: Iterable[int], seconds: float) -> frozenset[int]:
    """Wait until one of them can be read, at most so many seconds; return those that can."""
    # Unlike select, poll takes descriptors of any number.
    poller = select.poll()
    for descriptor in descriptors:
        poller.register(descriptor, select.POLLIN)
    return frozenset(descriptor for descriptor, _ in poller.poll(seconds * 1000))


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


def directories_to(path: Path) -> tuple[Path, ...]:
    """Return the directories that decide what `path` is, in the order in which they are met.

    These are the one that holds the last part, and every one that holds a link on the way. In the volume of a
    ConfigMap, `config.yaml` is a link to `..data/config.yaml` and `..data` a link that is swapped. Where a part is
    missing, the directory in which it would appear is the last one.
    """
    found: list[Path] = []
    here = Path("/")
    ahead = list(reversed(Path(os.path.abspath(path)).parts[1:]))  # noqa: PTH100  keeps links as they are
    links = 0
    while ahead:
        part = ahead.pop()
        if part == "..":
            here = here.parent
            continue
        entry = here / part
        try:
            target = Path(os.readlink(entry))  # noqa: PTH115  as written
        except OSError:
            if not ahead or not os.path.isdir(entry):  # noqa: PTH112  a directory closed to us counts as missing
                found.append(here)
                break
            here = entry
            continue
        found.append(here)
        links += 1
        if links > MOST_LINKS:
            break
        parts = target.parts
        if target.is_absolute():
            here, parts = Path("/"), parts[1:]
        ahead += reversed(parts)
    return tuple(dict.fromkeys(found))
