"""How the program's end gets past whatever is being waited for, so that nothing which hangs stands in its way."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping

from gpu_core.errors import Ending, MpsError, SuiteError

_LOOK = 0.05
"""Seconds between two looks whether what is waited for has come."""

_UNWIND = 2.5
"""Seconds that what was interrupted has to take note; more than a program needs that was killed."""


class Interruption:
    """Ends what is waited for, once, when the program is told to end; the end itself is not interrupted.

    Any thread may tell.
    """

    def __init__(self) -> None:
        self._told = False
        self._ending = False

    @property
    def told(self) -> bool:
        """Whether what runs now is to give up."""
        return self._told and not self._ending

    def tell(self) -> None:
        """Interrupt everything."""
        self._told = True

    def begin_end(self) -> None:
        """Interrupt nothing from now on."""
        self._ending = True

    def check(self) -> None:
        """Raise Ending where that is so."""
        if self.told:
            raise Ending

    def wait_for(self, condition: Callable[[], bool], *, until: float) -> bool:
        """Wait for a condition until a moment of the monotonic clock; return whether it came true.

        Raises Ending.
        """
        while not condition():
            self.check()
            if time.monotonic() >= until:
                return False
            time.sleep(_LOOK)
        return True

    def together(self, jobs: Mapping[str, Callable[[], object]], *, within: float) -> Mapping[str, SuiteError]:
        """Do several things at once; return which failed, and how.

        What takes longer than so many seconds is left behind in its thread and has failed. Raises Ending.
        """
        running = {name: _Job(job) for name, job in jobs.items()}
        for job in running.values():
            job.start()
        try:
            self.wait_for(lambda: not any(job.is_alive() for job in running.values()), until=time.monotonic() + within)
        except Ending:
            # They are told as well; until they have taken note, the end must not begin.
            end = time.monotonic() + _UNWIND
            for job in running.values():
                job.join(max(0.0, end - time.monotonic()))
            raise
        failures = {name: job.failure(within) for name, job in running.items()}
        return {name: failure for name, failure in failures.items() if failure is not None}


class _Job(threading.Thread):
    def __init__(self, job: Callable[[], object]) -> None:
        super().__init__(name="mps-job", daemon=True)
        self._job = job
        self._error: BaseException | None = None

    def run(self) -> None:
        try:
            self._job()
        except BaseException as error:  # noqa: BLE001  It is raised where the end is waited for.
            self._error = error

    def failure(self, within: float) -> SuiteError | None:
        if self.is_alive():
            return MpsError(f"It has not come to an end within {within:g} s.")
        if self._error is None or isinstance(self._error, SuiteError):
            return self._error
        raise self._error
