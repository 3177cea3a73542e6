"""Log lines: JSON for collectors, text for people; rich is never loaded."""

import io
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from gpu_core.config.load import load
from gpu_core.config.programs.device_plugin import DEVICE_PLUGIN
from gpu_core.config.words import LogLevel, MigStrategy
from gpu_core.devices.model import LinkLevel, Platform
from gpu_core.runtime.logs import configure, configure_by, get_logger
from gpu_core.runtime.outlet import Outlet


def test_json_lines_carry_event_level_time_and_fields() -> None:
    out = io.StringIO()
    configure(json=True, level="info", stream=out)
    get_logger(resource="nvidia.com/gpu").warning("Device is unhealthy", device="GPU-1", reason="größer")
    line = json.loads(out.getvalue())
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "event": "Device is unhealthy",
        "level": "warning",
        "resource": "nvidia.com/gpu",
        "device": "GPU-1",
        "reason": "größer",
    }


def test_lines_below_the_level_are_left_out() -> None:
    out = io.StringIO()
    configure(json=True, level="error", stream=out)
    get_logger().warning("quiet")
    assert out.getvalue() == ""


def test_text_lines_are_readable_and_without_colour_off_a_terminal() -> None:
    out = io.StringIO()
    configure(json=False, stream=out)
    get_logger().info("Registered", resource="nvidia.com/gpu")
    assert "Registered" in out.getvalue()
    assert "resource=nvidia.com/gpu" in out.getvalue()
    assert "\x1b" not in out.getvalue()


def test_text_lines_show_the_configuration_as_people_write_it() -> None:
    out = io.StringIO()
    configure(json=False, stream=out)
    loaded = load(DEVICE_PLUGIN, ["--mig-strategy=mixed", "--imex-channel-ids=0"], {"CUSTOM_RESOURCES": ""})
    get_logger().info("Running with config", config=loaded.effective([("1g.5gb", "nvidia.com/mig-1g.5gb")]))
    first, *below = out.getvalue().splitlines()
    assert first.endswith(" [info     ] Running with config")
    assert "\n".join(below) == textwrap.indent(_SHOWN, "    ").rstrip()


_SHOWN = """\
version: v1
flags:
  migStrategy: mixed
  failOnInitError: true
  nvidiaDriverRoot: /
  nvidiaDevRoot: /
  gdrcopyEnabled: false
  gdsEnabled: false
  mofedEnabled: false
  deviceDiscoveryStrategy: auto
  customResources: false
  plugin:
    passDeviceSpecs: false
    deviceListStrategy: envvar
    deviceIDStrategy: uuid
    cdiAnnotationPrefix: cdi.k8s.io/
    nvidiaCTKPath: /usr/bin/nvidia-ctk
    containerDriverRoot: /driver-root
    sharedDevicesAllocationPolicy: distributed
resources:
  gpus:
    - pattern: *, name: nvidia.com/gpu
  mig:
    - pattern: 1g.5gb, name: nvidia.com/mig-1g.5gb
imex:
  channelIDs: 0
"""


@pytest.mark.parametrize("as_json", [pytest.param(True, id="json"), pytest.param(False, id="text")])
def test_no_line_shows_how_python_writes_a_value(*, as_json: bool) -> None:
    out = io.StringIO()
    configure(json=as_json, stream=out)
    odd = {MigStrategy.NONE: (MigStrategy.SINGLE, {LogLevel.INFO}), "at": Path("/dev"), "level": LinkLevel.NODE}
    log = get_logger(platform=Platform.NVML, words=(MigStrategy.MIXED,), path=Path("/x"))
    log.info("Odd", why=OSError("no"), more=odd, every=[odd])
    text = out.getvalue()
    assert [word for word in ("Odd", "nvml", "mixed", "single", "/dev", "/x", "no") if word not in text] == []
    assert [sign for sign in ("<", ">", "Strategy", "Path", "Error", "Level") if sign in text] == []


def test_a_reason_of_several_lines_stands_below_its_text_line() -> None:
    out = io.StringIO()
    configure(json=False, stream=out)
    get_logger(resource="r").error("Not used", reason="2 problems found.\n  a\n  b")
    assert out.getvalue()[28:] == "[error    ] Not used resource=r\n    2 problems found.\n      a\n      b\n"


def test_an_exception_is_one_line_of_json() -> None:
    out = io.StringIO()
    configure(json=True, stream=out)
    try:
        int("odd")
    except ValueError:
        get_logger().exception("Unexpected")
    assert "ValueError: invalid literal" in json.loads(out.getvalue())["exception"]


def test_logging_does_not_load_rich() -> None:
    code = "import gpu_core.runtime.logs, sys; print('rich' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_rich_stays_usable_for_who_loaded_it_before() -> None:
    code = "import rich, gpu_core.runtime.logs, sys; print(sys.modules['rich'] is rich)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


@pytest.mark.parametrize(
    ("argv", "variables", "terminal", "json_lines", "coloured"),
    [
        pytest.param([], {}, False, True, False, id="lines are JSON where nobody watches"),
        pytest.param([], {}, True, False, True, id="and coloured text on a terminal"),
        pytest.param([], {"NO_COLOR": "1"}, True, False, False, id="text without colours when nobody wants them"),
        pytest.param([], {"NO_COLOR": ""}, True, False, True, id="an empty NO_COLOR says nothing"),
        pytest.param(["--log-format=text"], {}, False, False, False, id="text when asked for"),
        pytest.param(["--log-format=json"], {}, True, True, False, id="JSON when asked for"),
    ],
)
def test_the_form_follows_the_settings_and_the_stream(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    argv: list[str],
    variables: dict[str, str],
    *,
    terminal: bool,
    json_lines: bool,
    coloured: bool,
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    configure_by(load(DEVICE_PLUGIN, [*argv, "--log-level=warning"], variables).settings)
    get_logger().info("quiet")
    get_logger().warning("Device is unhealthy")
    written = capsys.readouterr().err
    assert ("quiet" in written, written.startswith("{")) == (False, json_lines)
    assert ("\x1b[" in written) is coloured


# Says things in every way in which Python and libraries say them by themselves.
_OTHERS = """
import logging, sys, threading, warnings
from gpu_core.config.load import load
from gpu_core.config.programs.device_plugin import DEVICE_PLUGIN
from gpu_core.runtime.logs import configure_by
configure_by(load(DEVICE_PLUGIN, [], {}).settings)
class Careless:
    def __del__(self):
        raise ValueError("in a destructor")
logging.getLogger("urllib3.connectionpool").warning("Retrying %s", "again")
logging.getLogger("quiet").info("nothing")
logging.getLogger("careless").error("%d", "no number")
warnings.warn("this is old", RuntimeWarning)
thread = threading.Thread(target=lambda: 1 / 0, name="worker")
thread.start()
thread.join()
Careless()
raise SystemError("the end")
"""


def test_what_python_and_libraries_say_is_in_lines_of_ours() -> None:
    done = subprocess.run([sys.executable, "-c", _OTHERS], capture_output=True, text=True, check=False)
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert done.returncode == 1
    assert [(line["level"], line["event"].partition(": ")[0]) for line in lines] == [
        ("warning", "Retrying again"),
        ("error", "%d"),
        ("warning", "<string>:13"),
        ("error", "A thread has ended by a mistake of the program"),
        ("error", "A mistake could not be passed on to anybody"),
        ("critical", "The program ends by a mistake of its own"),
    ]
    assert [line.get("source") or line.get("thread") for line in lines[:4]] == [
        "urllib3.connectionpool",
        "careless",
        "py.warnings",
        "worker",
    ]
    mistakes = [line["exception"].splitlines()[-1] for line in lines[3:]]
    assert mistakes == ["ZeroDivisionError: division by zero", "ValueError: in a destructor", "SystemError: the end"]


def test_lost_lines_are_told_of_in_the_form_of_the_others() -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    size = os.write(writer, b"x" * (1 << 20))
    outlet = Outlet(writer, most=1)
    configure(json=True, stream=io.TextIOWrapper(outlet, write_through=True))  # type: ignore[type-var]
    for number in range(5):
        get_logger().info(str(number))
    os.read(reader, size)
    assert outlet.end(60)
    lines = [json.loads(line) for line in os.read(reader, 1 << 20).splitlines()]
    # The tests that follow must not write to a descriptor that may be another file's by then.
    configure(json=True, stream=io.StringIO())
    os.close(reader)
    os.close(writer)
    told = [(line["level"], line["event"], line.get("lines")) for line in lines]
    assert told == [("info", "0", None), ("warning", "Log lines were lost here, as nobody took them", 4)]
