"""Holds signals back while a program starts: none is lost, and none ends it halfway.

Until a program has handlers, SIGTERM does nothing at all to the first process of a container, SIGHUP kills any, and
what SIGINT raises can vanish within an import. Held back, they are answered as soon as there is somebody to answer.

A program begins with this module, before everything that takes long to import.
"""

from __future__ import annotations

import signal

ANSWERED = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGQUIT)
"""The signals that long-running programs answer."""


def hold_signals() -> None:
    """Hold back, in this thread and those that it starts, what programs answer; nothing is lost meanwhile."""
    signal.pthread_sigmask(signal.SIG_BLOCK, ANSWERED)


def release_signals() -> None:
    """Let through what was held back, and what comes from now on."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ANSWERED)
