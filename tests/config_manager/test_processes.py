from __future__ import annotations

import pytest

from config_manager.processes import Process, runs, select

PLUGIN = "nvidia-device-plugin"


def process(*argv: str, comm: str = "x", pid: int = 7) -> Process:
    return Process(pid=pid, argv=argv, comm=comm)


@pytest.mark.parametrize(
    ("program", "found", "expected"),
    [
        pytest.param(PLUGIN, process(PLUGIN), True, id="argv[0] is the name"),
        pytest.param(PLUGIN, process(PLUGIN, "--mig-strategy=none"), True, id="flags do not matter"),
        pytest.param(PLUGIN, process(f"/usr/bin/{PLUGIN}"), True, id="argv[0] is a path to the name"),
        pytest.param("/usr/bin/mps-control-daemon", process("mps-control-daemon"), True, id="the name is a path"),
        pytest.param(PLUGIN, process("/usr/bin/python3.13", f"/usr/bin/{PLUGIN}"), True, id="a Python script"),
        pytest.param(
            PLUGIN, process("python3", "-u", "-X", "dev", f"/b/{PLUGIN}"), True, id="a script behind Python's options"
        ),
        pytest.param(PLUGIN, process("/bin/sh", f"/usr/bin/{PLUGIN}"), True, id="a shell script"),
        pytest.param(PLUGIN, process("python3", "-m", PLUGIN), False, id="a module is no script"),
        pytest.param(PLUGIN, process("sh", "-c", PLUGIN), False, id="a shell that starts the program is not it"),
        pytest.param(PLUGIN, process("tini", PLUGIN), False, id="an init that starts the program is not it"),
        pytest.param(PLUGIN, process("python3", "-W"), False, id="an interpreter without a script"),
        pytest.param(
            PLUGIN, process("python3", "/usr/bin/config-manager", PLUGIN), False, id="the name as an argument only"
        ),
        pytest.param(PLUGIN, process("renamed: 8 GPUs", comm="nvidia-device-p"), True, id="comm, cut to 15 letters"),
        pytest.param("gfd", process("renamed", comm="gfd"), True, id="comm in full"),
        pytest.param("gfd", process("python3", "other", comm="gfd"), True, id="comm of a renamed script"),
        pytest.param(
            PLUGIN,
            process("nvidia-device-plugin-validator", comm="nvidia-device-p"),
            False,
            id="another program with the same cut comm",
        ),
        pytest.param(
            PLUGIN,
            process("python3", "/x/nvidia-device-prober", comm="nvidia-device-p"),
            False,
            id="another script with the same cut comm",
        ),
        pytest.param(PLUGIN, process(PLUGIN, "status"), False, id="a subcommand"),
        pytest.param(PLUGIN, process("python3", f"/b/{PLUGIN}", "doctor", "--format=json"), False, id="one in Python"),
        pytest.param(
            PLUGIN,
            process(PLUGIN, "--mig-strategy", "single", "-gds-enabled", "cdi", "list"),
            False,
            id="a subcommand behind flags",
        ),
        pytest.param(PLUGIN, process(PLUGIN, "--mig-strategy", "status"), True, id="its name as a flag's value"),
        pytest.param(PLUGIN, process(PLUGIN, "serve"), True, id="a word that is ignored"),
        pytest.param(PLUGIN, process(PLUGIN, "serve", "status"), True, id="a subcommand's name behind such a word"),
        pytest.param(PLUGIN, process(PLUGIN, "--", "status"), True, id="a subcommand's name behind two dashes"),
        pytest.param(PLUGIN, process(PLUGIN, "--new-flag=1", "status"), True, id="a flag that only the original knows"),
        pytest.param(PLUGIN, process(PLUGIN, "--help"), False, id="help"),
        pytest.param(PLUGIN, process(PLUGIN, "help"), False, id="help as a word"),
        pytest.param(PLUGIN, process(PLUGIN, "--mig-strategy=none", "-v"), False, id="the version"),
        pytest.param(PLUGIN, process(PLUGIN, "--show-completion", "bash"), False, id="completion"),
        pytest.param("gfd", process("gfd", "topology"), False, id="a subcommand of gpu-feature-discovery"),
        pytest.param("gfd", process("gfd", "--oneshot"), False, id="a single pass"),
        pytest.param("gfd", process("gfd", "--oneshot=false"), True, id="no single pass"),
        pytest.param(
            "gpu-feature-discovery", process("gpu-feature-discovery", "--oneshot=x"), True, id="a wrong switch"
        ),
        pytest.param(
            "/usr/bin/mps-control-daemon",
            process("/usr/bin/python3", "/usr/bin/mps-control-daemon", "mount-shm"),
            False,
            id="the init container of the MPS control daemon",
        ),
        pytest.param("other", process("other", "status"), True, id="a word of a program that is not ours"),
        pytest.param(
            PLUGIN, process("renamed", "status", comm="nvidia-device-p"), True, id="a title that we know nothing of"
        ),
        pytest.param("gfd", process("gfd-exporter", comm="gfd-exporter"), False, id="a longer name"),
        pytest.param("gfd", Process(pid=7, argv=(), comm="gfd"), False, id="a dead process or a kernel thread"),
    ],
)
def test_whether_a_process_is_the_program(program: str, found: Process, expected: bool) -> None:
    assert runs(found, program) is expected


def test_every_match_is_selected_once_and_never_ourselves() -> None:
    processes = [process("gfd", pid=9), process(PLUGIN, pid=3), process("gfd", pid=5), process("sh", pid=4)]
    assert select(processes, ["gfd", PLUGIN, "/usr/bin/gfd"], own_pid=5) == (3, 9)
