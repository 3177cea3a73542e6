"""How a config file reaches the programs."""

from __future__ import annotations

from typing import Any

import pytest

from chart.conftest import Render
from chart.rendering import ABSENT, Rendering, Values

BASE = "r-nvidia-device-plugin"
ONE = {"config": {"map": {"default": "version: v1\n"}}}
ALL: Values = {**ONE, "gfd": {"enabled": True}}


def environment(rendering: Rendering, container: str) -> Any:
    """Give a container's variables as a mapping; a field of the pod as its path."""
    found = rendering.at(f"{container}.env")
    return (
        found
        if found is ABSENT
        else {e["name"]: e.get("value", e.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")) for e in found}
    )


CHOICE = {
    "NODE_NAME": "spec.nodeName",
    "NODE_LABEL": "nvidia.com/device-plugin.config",
    "CONFIG_FILE_SRCDIR": "/available-configs",
    "CONFIG_FILE_DST": "/config/config.yaml",
    "FALLBACK_STRATEGIES": "named,single",
}


@pytest.mark.parametrize(
    ("suffix", "program"),
    [
        pytest.param("", "nvidia-device-plugin", id="the plugin"),
        pytest.param("-gfd", "gpu-feature-discovery", id="feature discovery"),
        pytest.param("-mps", "mps-control-daemon", id="the MPS daemon"),
    ],
)
def test_a_program_has_its_config_chosen_before_it_starts_and_ever_after(
    rendered: Render, suffix: str, program: str
) -> None:
    rendering = rendered(ALL)
    pod = f"DaemonSet/{BASE}{suffix}: pod"

    assert environment(rendering, f"{pod}.initContainers[{program}-init]") == {
        "ONESHOT": "true",
        "SEND_SIGNAL": "false",
        **CHOICE,
    }
    assert environment(rendering, f"{pod}.containers[{program}-sidecar]") == {
        "ONESHOT": "false",
        "SEND_SIGNAL": "false",
        **CHOICE,
    }
    assert environment(rendering, f"{pod}.containers[{program}-ctr]")["CONFIG_FILE"] == "/config/config.yaml"
    mounts = rendering.at(f"{pod}.containers[{program}-ctr].volumeMounts")
    assert [mount for mount in mounts if mount["name"] in {"config", "available-configs"}] == [
        {"name": "available-configs", "mountPath": "/available-configs", "readOnly": True},
        {"name": "config", "mountPath": "/config", "readOnly": True},
    ]
    assert rendering.at(f"{pod}.volumes[available-configs].configMap") == {"name": f"{BASE}-configs"}


def test_signals_can_be_asked_for(rendered: Render) -> None:
    rendering = rendered({**ALL, "configManager": {"sendSignal": True}})
    signals = {
        suffix: environment(rendering, f"DaemonSet/{BASE}{suffix}: pod.containers[{program}-sidecar]")
        for suffix, program in (
            ("", "nvidia-device-plugin"),
            ("-gfd", "gpu-feature-discovery"),
            ("-mps", "mps-control-daemon"),
        )
    }

    assert {s: (e["SEND_SIGNAL"], e["SIGNAL"], e["PROCESS_TO_SIGNAL"]) for s, e in signals.items()} == {
        "": ("true", "1", "nvidia-device-plugin"),
        "-gfd": ("true", "1", "gpu-feature-discovery"),
        "-mps": ("true", "1", "mps-control-daemon"),
    }


def test_one_config_manager_per_node_serves_every_program_without_signals(rendered: Render) -> None:
    rendering = rendered({**ALL, "configManager": {"mode": "daemonset"}})
    path = f"/run/nvidia/gpu-{BASE}"

    assert rendering.kinds()["DaemonSet"] == [BASE, f"{BASE}-config", f"{BASE}-gfd", f"{BASE}-mps"]
    for suffix in ("", "-gfd", "-mps"):
        pod = f"DaemonSet/{BASE}{suffix}: pod"
        assert rendering.at(f"{pod}.volumes[config].hostPath") == {"path": path, "type": "Directory"}
        assert "config-manager" not in str(rendering.at(f"{pod}.containers")) + str(
            rendering.at(f"{pod}.initContainers")
        )
    manager = f"DaemonSet/{BASE}-config: pod"
    assert rendering.at(f"{manager}.volumes[config].hostPath") == {"path": path, "type": "DirectoryOrCreate"}
    assert environment(rendering, f"{manager}.containers[gpu-config-manager-ctr]") == {
        "ONESHOT": "false",
        "SEND_SIGNAL": "false",
        "METRICS_ADDRESS": ":9483",
        **CHOICE,
    }


def test_without_configs_there_is_no_config_manager(rendered: Render) -> None:
    rendering = rendered({"gfd": {"enabled": True}, "configManager": {"mode": "daemonset"}})

    assert rendering.kinds()["DaemonSet"] == [BASE, f"{BASE}-gfd", f"{BASE}-mps"]
    assert rendering.at(f"DaemonSet/{BASE}: pod.initContainers") is ABSENT
    assert "ConfigMap" not in rendering.kinds()


def test_configs_are_written_as_they_are(rendered: Render) -> None:
    text = "version: v1\nflags:\n  # A comment, {braces} and: colons\n  migStrategy: none\n"

    assert rendered({"config": {"map": {"a": text, "b": "{}", "c": None}, "default": "a"}}).at(
        f"ConfigMap/{BASE}-configs: data"
    ) == {
        "a": text,
        "b": "{}",
        "c": "",
    }


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        pytest.param({"map": {"a": ""}, "default": "a"}, {"DEFAULT_CONFIG": "a"}, id="the default is passed on"),
        pytest.param(
            {"name": "theirs", "default": "x", "fallbackStrategies": ["empty"]},
            {"DEFAULT_CONFIG": "x", "FALLBACK_STRATEGIES": "empty"},
            id="so are the strategies, in order",
        ),
    ],
)
def test_the_choice_follows_the_values(rendered: Render, config: Values, expected: Values) -> None:
    found = environment(
        rendered({"config": config}), f"DaemonSet/{BASE}: pod.initContainers[nvidia-device-plugin-init]"
    )

    assert {name: found[name] for name in expected} == expected
