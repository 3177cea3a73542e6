"""Objects for other software: Prometheus, network policies, runtime classes."""

from __future__ import annotations

import pytest

from chart.conftest import Render
from chart.rendering import Values

SELECTOR = {"app.kubernetes.io/part-of": "k8s-gpu-suite", "app.kubernetes.io/instance": "r"}
POLICY = "NetworkPolicy/r-nvidia-device-plugin"


def test_nothing_of_this_is_installed_unasked(rendered: Render) -> None:
    assert set(rendered({"gfd": {"enabled": True}}).kinds()) == {
        "ClusterRole",
        "ClusterRoleBinding",
        "DaemonSet",
        "Role",
        "RoleBinding",
        "ServiceAccount",
    }


def test_a_pod_monitor_finds_the_pods_of_all_components(rendered: Render) -> None:
    rendering = rendered({"metrics": {"podMonitor": {"enabled": True, "labels": {"team": "gpu"}, "interval": "15s"}}})

    assert rendering.at("PodMonitor/r-nvidia-device-plugin: spec") == {
        "selector": {"matchLabels": SELECTOR},
        "podMetricsEndpoints": [{"port": "metrics", "interval": "15s"}],
    }
    assert rendering.at("PodMonitor/r-nvidia-device-plugin: metadata.labels.team") == "gpu"
    labels = rendering.at("DaemonSet/r-nvidia-device-plugin-mps: spec.template.metadata.labels")
    assert labels.items() >= SELECTOR.items()


def test_a_service_monitor_brings_the_service_it_needs(rendered: Render) -> None:
    rendering = rendered({"metrics": {"serviceMonitor": {"enabled": True}}})
    wanted = rendering.at("ServiceMonitor/r-nvidia-device-plugin: spec.selector.matchLabels")

    assert rendering.at("ServiceMonitor/r-nvidia-device-plugin: spec.endpoints") == [{"port": "metrics"}]
    assert rendering.at("Service/r-nvidia-device-plugin-metrics: metadata.labels").items() >= wanted.items()
    assert rendering.at("Service/r-nvidia-device-plugin-metrics: spec") == {
        "clusterIP": "None",
        "selector": SELECTOR,
        "ports": [{"name": "metrics", "port": 9480, "targetPort": "metrics"}],
    }


def test_without_metrics_there_is_nothing_to_monitor(rendered: Render) -> None:
    monitors = {"podMonitor": {"enabled": True}, "serviceMonitor": {"enabled": True}}
    kinds = rendered({"metrics": {"enabled": False, **monitors}}).kinds()

    assert {"PodMonitor", "ServiceMonitor", "Service"} & set(kinds) == set()


SCRAPE = {"ports": [{"port": 9480}]}
API = {"ports": [{"port": 443}, {"port": 6443}]}
PROMETHEUS = [{"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param({}, {"ingress": [SCRAPE]}, id="scrapes come in, nothing goes out"),
        pytest.param({"config": {"map": {"default": ""}}}, {"ingress": [SCRAPE], "egress": [API]}, id="the API server"),
        pytest.param({"metrics": {"enabled": False}}, {}, id="nothing at all"),
        pytest.param(
            {"networkPolicy": {"from": PROMETHEUS}},
            {"ingress": [{**SCRAPE, "from": PROMETHEUS}]},
            id="from Prometheus only",
        ),
        pytest.param(
            {"networkPolicy": {"apiServerPorts": [8443]}, "devicePlugin": {"nodeEvents": True}},
            {"ingress": [SCRAPE], "egress": [{"ports": [{"port": 8443}]}]},
            id="an API server on another port",
        ),
    ],
)
def test_network_policies_allow_what_is_used(rendered: Render, values: Values, expected: Values) -> None:
    values = {**values, "networkPolicy": {"enabled": True, **values.get("networkPolicy", {})}}

    assert rendered(values).at(f"{POLICY}: spec") == {
        "podSelector": {
            "matchLabels": {"app.kubernetes.io/name": "nvidia-device-plugin", "app.kubernetes.io/instance": "r"}
        },
        "policyTypes": ["Ingress", "Egress"],
        **expected,
    }


@pytest.mark.parametrize(
    ("values", "name"),
    [
        pytest.param({"runtimeClass": {"create": True}}, "nvidia", id="by the usual name"),
        pytest.param(
            {"runtimeClass": {"create": True}, "runtimeClassName": "gpu"}, "gpu", id="by a name of the user's"
        ),
    ],
)
def test_a_runtime_class(rendered: Render, values: Values, name: str) -> None:
    assert rendered(values).at(f"RuntimeClass/{name}: handler") == "nvidia"
