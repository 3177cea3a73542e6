"""Names, labels, images: what an upgrade from the original relies on, and what keeps the components apart."""

from __future__ import annotations

import pytest

from chart.conftest import Render
from chart.rendering import Values

IMAGES = {"": "nvidia-device-plugin", "-gfd": "gpu-feature-discovery", "-mps": "mps-control-daemon"}


# Names and selectors as the original's chart renders them for the same release and values. A DaemonSet's selector
# cannot be changed, so that these have to stay for `helm upgrade` to work.
@pytest.mark.parametrize(
    ("release", "values", "name", "selector"),
    [
        pytest.param(
            "nvdp",
            {},
            "nvdp-nvidia-device-plugin",
            {"app.kubernetes.io/name": "nvidia-device-plugin", "app.kubernetes.io/instance": "nvdp"},
            id="as a rule",
        ),
        pytest.param(
            "my-nvidia-device-plugin",
            {},
            "my-nvidia-device-plugin",
            {"app.kubernetes.io/name": "nvidia-device-plugin", "app.kubernetes.io/instance": "my-nvidia-device-plugin"},
            id="a release that is called like the chart",
        ),
        pytest.param(
            "r",
            {"nameOverride": "dp"},
            "r-dp",
            {"app.kubernetes.io/name": "dp", "app.kubernetes.io/instance": "r"},
            id="another chart name",
        ),
        pytest.param(
            "r",
            {"fullnameOverride": "gpu"},
            "gpu",
            {"app.kubernetes.io/name": "nvidia-device-plugin", "app.kubernetes.io/instance": "r"},
            id="another full name",
        ),
        pytest.param(
            "r",
            {"selectorLabelsOverride": {"k8s-app": "gpu"}},
            "r-nvidia-device-plugin",
            {"k8s-app": "gpu"},
            id="labels of the user's",
        ),
        pytest.param(
            "r" * 50,
            {},
            "r" * 50 + "-nvidia-devic",
            {"app.kubernetes.io/name": "nvidia-device-plugin", "app.kubernetes.io/instance": "r" * 50},
            id="a long release name is cut",
        ),
    ],
)
def test_the_plugin_is_upgraded_in_place(
    rendered: Render, release: str, values: Values, name: str, selector: Values
) -> None:
    rendering = rendered(values, release=release)
    pod_labels = rendering.at(f"DaemonSet/{name}: spec.template.metadata.labels")

    assert rendering.at(f"DaemonSet/{name}: spec.selector.matchLabels") == selector
    assert pod_labels.items() >= selector.items()


def test_the_others_have_names_that_the_original_does_not_use(rendered: Render) -> None:
    rendering = rendered(
        {"gfd": {"enabled": True}, "config": {"map": {"default": ""}}, "configManager": {"mode": "daemonset"}}
    )

    assert rendering.kinds()["DaemonSet"] == [
        "r-nvidia-device-plugin",
        "r-nvidia-device-plugin-config",
        "r-nvidia-device-plugin-gfd",
        "r-nvidia-device-plugin-mps",
    ]


def test_even_the_longest_name_leaves_room_for_what_tells_components_apart(rendered: Render) -> None:
    rendering = rendered({"gfd": {"enabled": True}, "fullnameOverride": "n" * 63})

    assert rendering.kinds()["DaemonSet"] == sorted(["n" * 63, "n" * 59 + "-gfd", "n" * 59 + "-mps"])


def images(rendered: Render, values: Values) -> dict[str, tuple[str, str]]:
    """Give the images of the main containers with their pull policies."""
    rendering = rendered({**values, "gfd": {"enabled": True, **values.get("gfd", {})}})
    containers = {
        suffix: rendering.at(f"DaemonSet/r-nvidia-device-plugin{suffix}: pod.containers[{program}-ctr]")
        for suffix, program in IMAGES.items()
    }
    return {suffix: (container["image"], container["imagePullPolicy"]) for suffix, container in containers.items()}


SHA = "sha256:" + "0" * 64


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param(
            {},
            {s: (f"k8s-gpu-suite/{image}:v0.1.0", "IfNotPresent") for s, image in IMAGES.items()},
            id="four images side by side",
        ),
        pytest.param(
            {"image": {"repository": "reg.corp:5000/gpu/nvidia-device-plugin", "tag": "x", "pullPolicy": "Always"}},
            {s: (f"reg.corp:5000/gpu/{image}:x", "Always") for s, image in IMAGES.items()},
            id="in a registry of the user's",
        ),
        pytest.param(
            {"image": {"repository": "reg.corp/plugin"}},
            {
                "": ("reg.corp/plugin:v0.1.0", "IfNotPresent"),
                "-gfd": ("reg.corp/gpu-feature-discovery:v0.1.0", "IfNotPresent"),
                "-mps": ("reg.corp/mps-control-daemon:v0.1.0", "IfNotPresent"),
            },
            id="the plugin's under a name of the user's",
        ),
        pytest.param(
            {
                "devicePlugin": {"image": {"digest": SHA}},
                "gfd": {"image": {"repository": "a/b", "tag": "c", "pullPolicy": "Never"}},
            },
            {
                "": (f"k8s-gpu-suite/nvidia-device-plugin@{SHA}", "IfNotPresent"),
                "-gfd": ("a/b:c", "Never"),
                "-mps": ("k8s-gpu-suite/mps-control-daemon:v0.1.0", "IfNotPresent"),
            },
            id="one component by itself",
        ),
        pytest.param(
            {
                "image": {"tag": f"x@{SHA}"},
                "gfd": {"image": {"digest": SHA}},
                "mps": {"image": {"tag": f"y@{SHA}"}},
            },
            {
                "": (f"k8s-gpu-suite/nvidia-device-plugin:x@{SHA}", "IfNotPresent"),
                "-gfd": (f"k8s-gpu-suite/gpu-feature-discovery@{SHA}", "IfNotPresent"),
                "-mps": (f"k8s-gpu-suite/mps-control-daemon:y@{SHA}", "IfNotPresent"),
            },
            id="each by a digest of its own",
        ),
        pytest.param(
            {"image": {"repository": "nvidia-device-plugin", "tag": "dev"}},
            {s: (f"{image}:dev", "IfNotPresent") for s, image in IMAGES.items()},
            id="without a registry, as loaded into kind",
        ),
        pytest.param(
            {"image": {"repository": "localhost:5001/our-k8s-device-plugin"}},
            {
                "": ("localhost:5001/our-k8s-device-plugin:v0.1.0", "IfNotPresent"),
                "-gfd": ("localhost:5001/gpu-feature-discovery:v0.1.0", "IfNotPresent"),
                "-mps": ("localhost:5001/mps-control-daemon:v0.1.0", "IfNotPresent"),
            },
            id="under a name that only ends like the original's",
        ),
    ],
)
def test_images(rendered: Render, values: Values, expected: dict[str, tuple[str, str]]) -> None:
    assert images(rendered, values) == expected


@pytest.mark.parametrize("name", [None, ""])
def test_an_empty_name_of_gpu_feature_discovery_is_the_default_one(rendered: Render, name: str | None) -> None:
    assert rendered({"gfd": {"enabled": True, "nameOverride": name}}) == rendered({"gfd": {"enabled": True}})


def test_every_container_has_a_pull_policy_and_resources(rendered: Render) -> None:
    rendering = rendered({"gfd": {"enabled": True}, "config": {"map": {"default": ""}}})
    pods = [item["spec"]["template"]["spec"] for item in rendering.objects if item["kind"] == "DaemonSet"]
    containers = [one for pod in pods for one in pod["containers"] + pod.get("initContainers", [])]

    assert len(containers) == 10
    assert [
        c["name"] for c in containers if "imagePullPolicy" not in c or "requests" not in c.get("resources", {})
    ] == []


def test_everything_goes_into_the_namespace_that_is_named(rendered: Render) -> None:
    rendering = rendered(
        {"namespaceOverride": "elsewhere", "gfd": {"enabled": True}, "config": {"map": {"default": ""}}},
        namespace="default",
    )
    cluster_wide = {"ClusterRole", "ClusterRoleBinding"}

    assert {item["metadata"].get("namespace") for item in rendering.objects if item["kind"] not in cluster_wide} == {
        "elsewhere"
    }
