"""Stands for `nvidia-cuda-mps-control`: with `-d` a daemon, otherwise what passes standard input to it.

Written into a directory of PATH by `fakes.mps_tools`. As the real one it gets no variables but its own two, so how it
behaves stands in the file `control-mode` beside it, and what happened is told in the file `control-journal`.

    healthy       does what it is told
    slow          answers after a while
    deaf          answers, but does not quit
    hanging       never answers, and does not end when asked to
    dying         ends as soon as it has started
    wrong         answers with what nobody can understand
    refusing      answers every limit with a refusal in words, and ends with 0
    not-starting  says why it does not start, and ends with 1
    saying-so     says why it does not start, and ends with 0
    stuck         does not return when it is to start a daemon
    serving       starts a server too, as when a client has come, which outlives it
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
LONGEST_LIFE = 120.0


def mode() -> str:
    return (HERE / "control-mode").read_text("utf-8").strip()


def note(**entry: object) -> None:
    with (HERE / "control-journal").open("a", encoding="utf-8") as journal:
        journal.write(json.dumps(entry) + "\n")


def log(text: str) -> None:
    with (Path(os.environ["CUDA_MPS_LOG_DIRECTORY"]) / "control.log").open("a", encoding="utf-8") as file:
        file.write(f"[{os.getpid()}] {text}\n")


def start() -> int:
    environment = dict(sorted(os.environ.items()))
    for added_by_python in ("LC_CTYPE",):
        environment.pop(added_by_python, None)
    note(start=environment)
    match mode():
        case "not-starting" | "saying-so":
            sys.stdout.write("Failed to start: no device is available\n")
            return 1 if mode() == "not-starting" else 0
        case "stuck":
            time.sleep(LONGEST_LIFE)
    reader, writer = os.pipe()
    if os.fork():
        os.close(writer)
        return 0 if os.read(reader, 1) else 1
    os.setsid()
    # Standard output stays open, which must not keep whoever started us.
    os.close(reader)
    listener = socket.socket(socket.AF_UNIX)
    with contextlib.suppress(FileNotFoundError):
        Path("control").unlink()
    # A relative name has room where the directory's would be too long for a socket.
    listener.bind("control")
    listener.listen()
    Path("nvidia-cuda-mps-control.pid").write_text(f"{os.getpid()}\n", "ascii")
    log(f"Starting control daemon using socket {Path.cwd()}/control")
    note(daemon=os.getpid())
    if mode() == "serving":
        server = subprocess.Popen([HERE / "nvidia-cuda-mps-server"], start_new_session=True)
        note(daemon=server.pid)
    if mode() == "hanging":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.write(writer, b"x")
    os.close(writer)
    if mode() == "dying":
        return 0
    serve(listener)
    Path("nvidia-cuda-mps-control.pid").unlink()
    Path("control").unlink()
    log("Exit")
    return 0


def serve(listener: socket.socket) -> None:
    percentage = "100.0"
    end = time.monotonic() + LONGEST_LIFE
    listener.settimeout(1.0)
    while time.monotonic() < end and Path("nvidia-cuda-mps-control.pid").exists():
        try:
            connection, _ = listener.accept()
        except TimeoutError:
            continue
        line = connection.recv(4096).decode()
        note(pipe=str(Path.cwd()), line=line)
        match mode():
            case "hanging":
                # The connection stays open, so that the one who asked waits.
                os.dup(connection.fileno())
                continue
            case "slow":
                time.sleep(0.3)
        match line.split():
            case ["quit"] if mode() == "deaf":
                answer = ""
            case ["quit"]:
                connection.sendall(b"\n")
                return
            case ["get_default_active_thread_percentage"]:
                answer = "no such thing" if mode() == "wrong" else percentage
            case ["set_default_active_thread_percentage", percentage]:
                answer = percentage
            case ["set_default_device_pinned_mem_limit", _, _]:
                answer = ""
            case _:
                answer = "Unknown command"
        if mode() == "refusing" and line.startswith("set_"):
            answer = "Error: the limit is invalid"
        connection.sendall(f"{answer}\n".encode())
        connection.close()


def ask() -> int:
    line = sys.stdin.read()
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect("control")
    except OSError:
        sys.stdout.write("Cannot find MPS control daemon process\n")
        return 1
    connection.sendall(line.encode())
    answer = connection.recv(4096).decode()
    if not answer:
        return 1
    sys.stdout.write(answer)
    return 0


if __name__ == "__main__":
    os.chdir(os.environ["CUDA_MPS_PIPE_DIRECTORY"])
    sys.exit(start() if sys.argv[1:] == ["-d"] else ask())
