"""What becomes of running daemons when they die, when their node or their config changes, and when we crash."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fakes.mps_bench import HASTY, IDLE, LIMITS, PLAN, RELOAD, Bench, eventually, kill, sharing, two_resources
from fakes.mps_tools import MpsTools, is_running
from gpu_core.config.layers import key_path
from gpu_core.errors import ConfigError
from gpu_core.mps import digest
from mps_control_daemon.metrics import CONFIG_LOADS, DEATHS, UP


def loads(bench: Bench) -> dict[str, float]:
    """Return how many configs were applied and refused."""
    samples = bench.counters.snapshot()
    return {sample.labels[0][1]: sample.value for sample in samples if sample.metric == CONFIG_LOADS}


@pytest.fixture
def bench(tmp_path: Path, tools: MpsTools) -> Bench:
    return Bench(tmp_path, tools)


def test_a_daemon_that_was_killed_is_started_again_with_its_limits(bench: Bench, tools: MpsTools) -> None:
    app = bench.start()
    app.act(IDLE)
    for death, pause in enumerate((1.0, 2.0), start=1):
        kill(tools.pids[-1])
        app.act(IDLE)
        assert (bool(bench.ready), bench.count(UP), bench.count(DEATHS)) == (False, 0.0, death)
        bench.after(pause - 0.1)
        app.act(IDLE)
        assert len(tools.starts) == death
        bench.after(0.2)
        app.act(IDLE)
        assert (len(tools.starts), bench.ready) == (death + 1, digest([PLAN]))
    assert tools.lines() == LIMITS * 3
    # After a long time in order, a death is a first one again.
    bench.after(400)
    kill(tools.pids[-1])
    app.act(IDLE)
    bench.after(1.0)
    app.act(IDLE)
    assert len(tools.starts) == 4


def test_a_server_that_outlives_its_daemon_does_not_keep_the_gpu(bench: Bench, tools: MpsTools) -> None:
    tools.control("serving")
    bench.grace = HASTY
    app = bench.start()
    app.act(IDLE)
    daemon, server = tools.pids
    kill(daemon)
    app.act(IDLE)
    assert is_running(server)
    bench.after(1)
    app.act(IDLE)
    eventually(lambda: not is_running(server))
    app.stop()


def test_a_daemon_that_is_left_behind_by_a_crash_is_taken_over(bench: Bench, tools: MpsTools) -> None:
    tools.compute_modes = {"GPU-0": "PROHIBITED"}
    bench.start().act(IDLE)
    app = bench.start()
    assert not bench.ready
    app.act(IDLE)
    assert (len(tools.starts), bench.ready) == (1, digest([PLAN]))
    app.stop()
    assert tools.compute_modes == {"GPU-0": "PROHIBITED", "GPU-1": "DEFAULT"}


def test_a_daemon_that_is_left_behind_with_other_limits_is_replaced(bench: Bench, tools: MpsTools) -> None:
    bench.start().act(IDLE)
    bench.configure(sharing(2))
    bench.start().act(IDLE)
    assert tools.lines()[len(LIMITS) :] == [
        "quit",
        "set_default_device_pinned_mem_limit 0 20000M",
        "set_default_device_pinned_mem_limit 1 10000M",
        "set_default_active_thread_percentage 50",
    ]
    assert [is_running(pid) for pid in tools.pids] == [False, True]


def test_what_is_left_behind_and_not_wanted_any_more_is_ended(bench: Bench, tools: MpsTools) -> None:
    bench.start().act(IDLE)
    bench.configure("version: v1\n")
    bench.start().act(IDLE)
    assert not is_running(tools.pids[0])
    assert tools.compute_modes == {"GPU-0": "DEFAULT", "GPU-1": "DEFAULT"}
    assert bench.ready == digest([])


def test_a_machine_that_was_restarted_has_marks_but_no_daemons(bench: Bench, tools: MpsTools) -> None:
    bench.start().act(IDLE)
    kill(tools.pids[0])
    bench.start().act(IDLE)
    assert (len(tools.starts), bench.ready) == (2, digest([PLAN]))


def test_a_reload_of_the_same_does_nothing(bench: Bench, tools: MpsTools) -> None:
    app = bench.start()
    app.act(IDLE)
    before = Path(bench.root.ready).stat()
    app.act(RELOAD)
    after = Path(bench.root.ready).stat()
    assert (len(tools.starts), tools.lines(), before.st_ino) == (1, LIMITS, after.st_ino)
    assert bench.count(CONFIG_LOADS) == 2


def test_a_reload_restarts_only_the_resources_concerned(bench: Bench, tools: MpsTools) -> None:
    bench.configure(two_resources())
    app = bench.start()
    app.act(IDLE)
    assert [start["CUDA_VISIBLE_DEVICES"] for start in tools.starts] == ["GPU-1", "GPU-0"]
    ready = bench.ready
    bench.configure(two_resources(l40s=8))
    app.act(RELOAD)
    assert [start["CUDA_VISIBLE_DEVICES"] for start in tools.starts] == ["GPU-1", "GPU-0", "GPU-0"]
    assert tools.lines("nvidia.com/a10") == [
        "set_default_device_pinned_mem_limit 0 10000M",
        "set_default_active_thread_percentage 50",
    ]
    assert bench.ready not in (None, ready)
    app.stop()
    assert tools.have_ended()


@pytest.mark.parametrize("config", ["version: v1\n", sharing(replicas=1)], ids=["no sharing", "one replica"])
def test_a_reload_without_mps_stops_every_daemon(bench: Bench, tools: MpsTools, config: Any) -> None:
    app = bench.start()
    app.act(IDLE)
    bench.configure(config)
    app.act(RELOAD)
    assert (is_running(tools.pids[0]), bench.ready) == (False, digest([]))
    assert tools.compute_modes == {"GPU-0": "DEFAULT", "GPU-1": "DEFAULT"}


@pytest.mark.parametrize(
    "config", ["version: v9\n", sharing(49)], ids=["a file that cannot be used", "a file that the GPUs do not allow"]
)
def test_a_bad_config_while_running_changes_nothing(bench: Bench, tools: MpsTools, config: Any) -> None:
    app = bench.start()
    app.act(IDLE)
    bench.configure(config)
    app.act(RELOAD)
    bench.after(61)
    app.act(IDLE)
    assert (len(tools.starts), bench.ready) == (1, digest([PLAN]))
    errors = [line["event"] for line in bench.logged(level="error")]
    assert errors == ["The new configuration is not used; the one before stays"]
    assert loads(bench) == {"applied": 1.0, "refused": 1.0}


WRONG_WORD = "flags.migStrategy: 'both' is not allowed; use none, single or mixed"


def test_a_config_that_is_refused_once_it_was_logged_changes_nothing(bench: Bench, tools: MpsTools) -> None:
    """As gpu-feature-discovery treats a wrong MIG strategy; a program may say so of any word."""
    bench.program = replace(bench.program, late=(key_path("flags.migStrategy"),))
    app = bench.start()
    app.act(IDLE)
    bench.configure({**sharing(8), "flags": {"migStrategy": "both"}})
    app.act(RELOAD)
    bench.after(61)
    app.act(IDLE)
    assert (len(tools.starts), bench.ready, app.loaded.config.sharing.entries[0][1].replicas) == (1, digest([PLAN]), 4)
    (error,) = bench.logged(level="error")
    assert error["event"] == "The new configuration is not used; the one before stays"
    assert WRONG_WORD in error["reason"]
    assert loads(bench) == {"applied": 1.0, "refused": 1.0}


def test_a_first_config_that_is_refused_once_it_was_logged_ends_the_program(bench: Bench, tools: MpsTools) -> None:
    bench.program = replace(bench.program, late=(key_path("flags.migStrategy"),))
    bench.configure({**sharing(), "flags": {"migStrategy": "both"}})
    app = bench.start()
    with pytest.raises(ConfigError) as raised:
        app.act(IDLE)
    assert WRONG_WORD in str(raised.value)
    assert (bench.ready, tools.starts) == (None, [])


def test_a_gpu_that_gets_lost_does_not_end_the_clients_of_its_neighbours(bench: Bench, tools: MpsTools) -> None:
    app = bench.start()
    app.act(IDLE)
    bench.happens("fail DeviceGetUUID 1 GPU_IS_LOST")
    bench.after(61)
    app.act(IDLE)
    app.act(RELOAD)
    assert (len(tools.starts), is_running(tools.pids[0])) == (1, True)
    assert bench.ready is not None


def test_a_gpu_that_comes_is_taken_in(bench: Bench, tools: MpsTools) -> None:
    bench.happens("fail DeviceGetMinorNumber 1 GPU_IS_LOST")
    app = bench.start()
    app.act(IDLE)
    assert [start["CUDA_VISIBLE_DEVICES"] for start in tools.starts] == ["GPU-0"]
    bench.happens("heal DeviceGetMinorNumber 1")
    bench.after(61)
    app.act(IDLE)
    assert [start["CUDA_VISIBLE_DEVICES"] for start in tools.starts] == ["GPU-0", "GPU-0,GPU-1"]


def test_a_driver_that_goes_away_leaves_daemons_as_they_are(bench: Bench, tools: MpsTools) -> None:
    app = bench.start()
    app.act(IDLE)
    bench.happens("fail Init * DRIVER_NOT_LOADED")
    bench.after(61)
    app.act(IDLE)
    assert (len(tools.starts), bench.ready) == (1, digest([PLAN]))


def test_what_the_filter_leaves_out_is_told_once(bench: Bench) -> None:
    bench.configure(sharing() | {"devices": {"exclude": ["*l40s*"]}})
    app = bench.start()
    app.act(IDLE)
    bench.after(600.0)
    app.act(IDLE)
    notes = [line["event"] for line in bench.logged(level="info") if "The filter" in line["event"]]
    assert notes == ["The filter `devices` leaves out 1 of the 2 GPUs of this node."]
    bench.configure(sharing() | {"devices": {"exclude": ["*t4*"]}})
    app.act(RELOAD)
    warnings = [line["event"] for line in bench.logged(level="warning")]
    assert ["No GPU matches what it names (exclude: '*t4*')" in event for event in warnings] == [True]
