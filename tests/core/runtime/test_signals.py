"""Signals become events whichever thread they reach, and the end comes in time; in a process of its own for each."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from fakes.patience import PATIENCE

ANSWERED = [signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGQUIT]

_PROGRAM = """
import atexit, ctypes, os, signal, subprocess, sys, threading, time
from gpu_core.runtime.ending import leave
from gpu_core.runtime.supervise import EventQueue
from gpu_core.runtime.held_signals import hold_signals
from gpu_core.runtime.logs import configure
from gpu_core.runtime.signals import signals_to

def to_thread(thread, number):
    tgkill = {"x86_64": 234, "aarch64": 131}[os.uname().machine]
    ctypes.CDLL(None).syscall(tgkill, os.getpid(), thread.native_id, number)

hold_signals()
configure(json=True)
events = EventQueue()
"""
SOON = "within=0.2"
LATER = "within=60"


def run(program: str, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", _PROGRAM + program]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE, **options)  # type: ignore[call-overload, no-any-return]


def event(number: signal.Signals) -> str:
    return f"{'Reload' if number == signal.SIGHUP else 'Stop'}(reason='{number.name}')"


@pytest.mark.parametrize("number", ANSWERED, ids=lambda number: number.name)
def test_a_signal_to_any_thread_is_an_event_at_once(number: signal.Signals) -> None:
    done = run(f"""
with signals_to(events, {LATER}):
    side = threading.Thread(target=threading.Event().wait, daemon=True)
    side.start()
    # The main thread waits in C code, as in a driver, and comes round to no handler.
    threading.Timer(0.1, to_thread, (side, {number:d})).start()
    print(*events.take(None))
leave(0)
""")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{event(number)}\n", "")


@pytest.mark.parametrize("number", ANSWERED, ids=lambda number: number.name)
def test_a_signal_that_was_ignored_and_blocked_when_the_program_started_is_answered(number: signal.Signals) -> None:
    def ignore() -> None:
        signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())

    done = run(
        f"with signals_to(events, {LATER}):\n    os.kill(os.getpid(), {number:d})\n    print(*events.take(None))",
        preexec_fn=ignore,
    )
    assert (done.returncode, done.stdout) == (0, f"{event(number)}\n")


def test_what_is_started_has_an_empty_mask_and_ignores_nothing() -> None:
    def ignore() -> None:
        for number in (*ANSWERED, signal.SIGCHLD, signal.SIGUSR1, signal.SIGRTMIN):
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())

    done = run(
        """
with signals_to(events):
    side = threading.Thread(target=lambda: subprocess.run(["grep", "^Sig[BI]", "/proc/self/status"]))
    side.start()
    side.join()
    print(subprocess.run(["false"]).returncode)
""",
        preexec_fn=ignore,
    )
    _, blocked, _, ignored, code = done.stdout.split()
    # What the C library keeps for its threads no program can set, or take back from those that started it.
    settable = sum(1 << (number - 1) for number in signal.valid_signals())
    assert (int(blocked, 16), int(ignored, 16) & settable, code) == (0, 0, "1")


def test_the_signals_that_follow_the_first_change_nothing() -> None:
    done = run(f"""
with signals_to(events, {LATER}):
    os.kill(os.getpid(), signal.SIGTERM)
    events.take(None)
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGQUIT):
    os.kill(os.getpid(), number)
leave(3)
""")
    assert (done.returncode, done.stderr) == (3, "")


def test_a_block_that_ends_by_itself_gives_everything_back() -> None:
    done = run("""
before = signal.getsignal(signal.SIGTERM), len(os.listdir("/proc/self/fd"))
with signals_to(events):
    pass
print(before == (signal.getsignal(signal.SIGTERM), len(os.listdir("/proc/self/fd"))), threading.active_count())
os.kill(os.getpid(), signal.SIGTERM)
""")
    assert (done.returncode, done.stdout) == (-signal.SIGTERM, "True 1\n")


HANGS = {
    "the block": "    threading.Event().wait()\n",
    "what stands around the block": "    events.take(None)\nthreading.Event().wait()\n",
    "what a library does at exit": "    atexit.register(threading.Event().wait)\n    events.take(None)\nleave(0)\n",
}


@pytest.mark.parametrize("hangs", HANGS)
def test_an_end_that_hangs_is_cut_short_and_says_where(hangs: str) -> None:
    done = run(f"with signals_to(events, {SOON}):\n    os.kill(os.getpid(), signal.SIGTERM)\n{HANGS[hangs]}")
    assert done.returncode == 1
    line = json.loads(done.stderr)
    assert (
        line["event"]
        == "The end takes longer than 0.2 s and is cut short; the next start clears up what is left behind."
    )
    assert line["hangs_in"].startswith("Condition.wait, ")


def test_the_last_words_come_behind_what_was_logged_before() -> None:
    number = 100
    done = run(f"""
from gpu_core.runtime.logs import get_logger
from gpu_core.runtime.outlet import nobody_waits_for
with nobody_waits_for("stderr"):
    configure(json=True)
    with signals_to(events, {SOON}):
        threads = [threading.Thread(target=get_logger().info, args=(str(number),)) for number in range({number})]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        os.kill(os.getpid(), signal.SIGTERM)
        threading.Event().wait()
""")
    lines = [json.loads(line)["event"] for line in done.stderr.splitlines()]
    assert (done.returncode, len(lines), lines[-1][:18]) == (1, number + 1, "The end takes long")


def test_a_log_that_nobody_reads_does_not_keep_the_end() -> None:
    reader, writer = os.pipe()
    program = f"""
with signals_to(events, {SOON}):
    os.kill(os.getpid(), signal.SIGTERM)
    sys.stderr.write("x" * 1_000_000)
"""
    with subprocess.Popen([sys.executable, "-c", _PROGRAM + program], stderr=writer) as process:
        assert process.wait(60) == 1
    os.close(reader)
    os.close(writer)


def test_threads_that_hang_do_not_keep_the_end() -> None:
    begun = time.monotonic()
    done = run(f"""
with signals_to(events, {LATER}):
    threading.Thread(target=threading.Event().wait).start()
    os.kill(os.getpid(), signal.SIGTERM)
    events.take(None)
sys.stdout.write("all of it")
leave(0)
""")
    assert (done.returncode, done.stdout) == (0, "all of it")
    assert time.monotonic() - begun < 50, "it waited until it was cut short"
