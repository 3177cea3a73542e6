"""The configuration that a program obeys, and its file: noticed when it changes, however it was changed.

Written, replaced, or behind swapped links: a new config is noticed without a signal.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from gpu_core.config.file.document import MAX_BYTES
from gpu_core.config.load import Loaded
from gpu_core.config.model import Config
from gpu_core.errors import SuiteError
from gpu_core.files import is_unnamed_pipe, read_beginning
from gpu_core.runtime.counters import Counters
from gpu_core.runtime.file_watch import LOOK_AGAIN, DirectoriesWatch, directories_to
from gpu_core.runtime.logs import get_logger
from gpu_core.runtime.metrics import CONFIG, Metric
from gpu_core.runtime.once import Once
from gpu_core.runtime.probes import Check
from gpu_core.runtime.supervise import EventQueue, Reload

S = TypeVar("S")

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigState:
    """A configuration that is obeyed: its file's name, empty without one, and the SHA-256 of its text.

    `refused` is why a newer one is not, `problem` why its file cannot be read; empty when there is no such thing.
    """

    config: Config
    name: str
    digest: str
    refused: str = ""
    problem: str = ""

    def check(self) -> Check:
        """Return what those who ask whether the program is ready should know; none of it makes it unready."""
        name = self.name or "no config file"
        if self.problem:
            return Check(name="config", ok=True, reason=self.problem, concern=True)
        if self.refused:
            reason = f"{name} as it was is in use; what it says now is refused: {self.refused}"
            return Check(name="config", ok=True, reason=reason, concern=True)
        return Check(name="config", ok=True, reason=f"{name} is in use")


class ConfigInUse(Generic[S]):
    """The configuration that a program obeys, and what became of newer ones.

    One thread changes it, any thread may ask. `loads` counts reloads by `result`: applied, unchanged, refused;
    `refusing` is 1 while an older configuration is obeyed than the file holds. `problem` tells why the file cannot be
    read, if so.
    """

    def __init__(
        self,
        loaded: Loaded[S],
        *,
        counters: Counters,
        loads: Metric,
        refusing: Metric | None = None,
        problem: Callable[[], str] = lambda: "",
    ) -> None:
        self._counters = counters
        self._loads = loads
        self._refusing = refusing
        self._problem = problem
        self._log = get_logger()
        self._warn = Once(self._log.warning)
        self._refused = ""
        self._use(loaded)

    @property
    def loaded(self) -> Loaded[S]:
        """What is obeyed."""
        return self._loaded

    def state(self) -> ConfigState:
        """Return what is obeyed, for those who show it."""
        loaded = self._loaded
        return ConfigState(
            config=loaded.config,
            name=self._name,
            digest=loaded.config_text_digest,
            refused=self._refused,
            problem=self._problem(),
        )

    def tell(self, loaded: Loaded[S], mig_resources: Sequence[tuple[str, str]] = ()) -> None:
        """Say what a configuration comes to, before anything is done with it."""
        self._log.info("Running with config", config=loaded.effective(mig_resources))

    def warn(self, warnings: Iterable[str]) -> None:
        """Say what deserves a look in the configuration, each once."""
        self._warn.all(warnings)

    def reload(self, reasons: Sequence[str]) -> Loaded[S] | None:
        """Return what to try, perhaps equal to what is obeyed; None where it cannot be loaded, which is told then."""
        self._log.info("Reading the configuration again", reason=", ".join(reasons))
        try:
            return self._loaded.reload()
        except SuiteError as error:
            self.refuse(error)
            return None

    def accept(self, loaded: Loaded[S], *, result: str = "applied") -> None:
        """Obey a configuration from now on."""
        self._use(loaded)
        self._count(result, refused="")

    def refuse(self, error: SuiteError) -> None:
        """Go on with the one before, and say why."""
        self._count("refused", refused=str(error))
        self._log.error("The new configuration is not used; the one before stays", reason=str(error))

    def _use(self, loaded: Loaded[S]) -> None:
        self._loaded = loaded
        file = self._loaded.file
        self._name = config_name(file)
        digest = loaded.config_text_digest if file else ""
        self._counters.replace(CONFIG, [({"name": self._name, "digest": digest}, 1.0)])

    def _count(self, result: str, *, refused: str) -> None:
        self._refused = refused
        self._counters.add(self._loads, result=result)
        if self._refusing is not None:
            self._counters.set(self._refusing, float(bool(refused)))


def config_name(file: str) -> str:
    """Return the name by which a config is known: that of the file at the end of all links, as config-manager sets."""
    if not file:
        return ""
    try:
        return Path(file).resolve().name
    except OSError:
        return Path(file).name
