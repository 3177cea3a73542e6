"""Every program as a process whose port for probes and numbers cannot be had."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from fakes.every_program import PROGRAMS, EveryProgram, eventually, running
from fakes.http_client import get


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_taken_port_keeps_no_program_from_its_work(programs: EveryProgram, tmp_path: Path, program: str) -> None:
    log = tmp_path / "log"
    with socket.create_server(("127.0.0.1", 0)) as holder, log.open("wb") as stderr:
        port = holder.getsockname()[1]
        command = programs.command(program, f"--metrics-address=127.0.0.1:{port}")
        with running(command, stderr=stderr, stdout=subprocess.DEVNULL) as process:
            eventually(lambda: b"cannot be listened on" in log.read_bytes(), "the port is not spoken of")
            eventually(lambda: programs.works(program), "it does not work")
            holder.close()
            eventually(lambda: b"Answering on HTTP" in log.read_bytes(), "nobody answers")
            assert get(port, "/healthz").status == 200
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
    events = [json.loads(line)["event"] for line in log.read_text("utf-8").splitlines()]
    assert sum("cannot be listened on: Address already in use" in event for event in events) == 1


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_is_no_address_ends_the_start(programs: EveryProgram, program: str) -> None:
    command = programs.command(program, "--metrics-address=9480")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    advice = "'9480' is no address to listen on. Write host:port, or :port for every address."
    assert (done.returncode, advice in done.stderr.splitlines()[-1]) == (1, True)
