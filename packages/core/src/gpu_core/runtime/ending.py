"""How a program ends: by what it has to return, and by the clock where something hangs.

Only here is a process ended without Python's own end. What a program must not leave behind is gone by then; what Python
would do besides is to wait for threads that may hang in a driver, and to run the destructors of C libraries, which
may wait for the same driver. A container's first process cannot be ended by an alarm either, as the kernel keeps
signals without a handler from it.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
from typing import NoReturn

_TELLING = 0.3
"""Seconds that a last message may take; whoever reads our standard error may have stopped."""

LATE = 1
"""The exit code of a program that had to be ended before it had put away everything."""


def leave(code: int) -> NoReturn:
    """End the process with this exit code, as `sys.exit` does but for threads and C libraries, which are left alone."""
    # Libraries remove files at exit, as the Kubernetes client does with keys that a kubeconfig holds.
    atexit._run_exitfuncs()  # noqa: SLF001  There is no public name for it.
    for stream in (sys.stdout, sys.stderr):
        # Answers were flushed where they were written; who closed the other end of a log wants no other exit code.
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(code)


def leave_late(seconds: float) -> NoReturn:
    """End the process now, whatever its threads do: it was to end within so many seconds, and has not."""

    def tell() -> None:
        # What is imported here costs more than all else that ends a program.
        from gpu_core.runtime.logs import get_logger  # noqa: PLC0415
        from gpu_core.runtime.outlet import outlet_of  # noqa: PLC0415

        get_logger().error(
            f"The end takes longer than {seconds:g} s and is cut short; the next start clears up what is left behind.",
            hangs_in=_main_thread(),
        )
        outlet = outlet_of(sys.stderr)
        if outlet is not None:
            outlet.end(_TELLING)

    # From a thread of its own: to write may take for ever, and may be what has hung all the time.
    teller = threading.Thread(target=tell, name="last-words", daemon=True)
    with contextlib.suppress(RuntimeError):
        teller.start()
        teller.join(_TELLING)
    os._exit(LATE)


def _main_thread() -> str:
    """Return what the main thread is doing, so that whoever reads it knows what hangs."""
    frame = sys._current_frames().get(threading.main_thread().ident or 0)  # noqa: SLF001  It is documented.
    return "" if frame is None else f"{frame.f_code.co_qualname}, {frame.f_code.co_filename}:{frame.f_lineno}"
