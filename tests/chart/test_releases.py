"""Values files of NVIDIA's chart, as each of its releases brings one: all of them work, with our image given on top.

Those in `releases` hold the keys and values of the file that their first line names; comments are left out.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml

from chart.conftest import Render
from chart.rendering import CHART, Values, merged, render

RELEASES = Path(__file__).parent / "releases"
IMAGE: Values = {"image": {"repository": "registry.example/gpu/nvidia-device-plugin"}}
# Charts of their own, which became the subchart `gfd`, name an image of their own.
IMAGE_OF_GFD: Values = {"gfd": {"image": {"repository": "registry.example/gpu/gpu-feature-discovery"}}}


def values_of(file: Path) -> Values:
    """Read the values of a release, with our images in the place of NVIDIA's."""
    values: Values = yaml.safe_load(file.read_text())
    return merged(merged(values, IMAGE), IMAGE_OF_GFD if "image" in values["gfd"] else {})


@pytest.mark.parametrize("enabled", [False, True], ids=["the plugin", "with gpu-feature-discovery"])
@pytest.mark.parametrize("file", sorted(RELEASES.glob("*.yaml")), ids=lambda file: file.stem)
def test_the_values_file_of_a_release_works(rendered: Render, file: Path, enabled: bool) -> None:
    rendering = rendered(merged(values_of(file), {"gfd": {"enabled": enabled}}))
    sets = {name.removeprefix("r-nvidia-device-plugin") for name in rendering.kinds()["DaemonSet"]}

    assert sets == ({"", "-gfd", "-mps"} if enabled else {"", "-mps"})
    assert rendering.at("DaemonSet/r-nvidia-device-plugin: pod.containers[nvidia-device-plugin-ctr]")["image"] == (
        "registry.example/gpu/nvidia-device-plugin:v0.1.0"
    )


def test_labels_find_their_node_after_an_upgrade_of_each_release(rendered: Render) -> None:
    """The original's NFD is gone by then: gpu-feature-discovery must run on nodes that nobody has labelled."""
    files = sorted(RELEASES.glob("0.*.yaml"))
    assert files
    for file in files:
        pod = "DaemonSet/r-nvidia-device-plugin-gfd: pod"
        rendering = rendered(merged(values_of(file), {"gfd": {"enabled": True}}))
        container = f"{pod}.containers[gpu-feature-discovery-ctr]"

        assert rendering.at(f"{pod}.nodeSelector") == {"kubernetes.io/os": "linux"}, file
        assert "affinity" not in rendering.at(pod), file
        assert rendering.at(f"{container}.env[GFD_PUBLISH].value") == "node", file


@pytest.mark.parametrize("helm", ["helm-3", "helm-4"])
@pytest.mark.parametrize("release", ["0.12.3", "0.14", "0.19-0.20"])
def test_values_that_a_release_keeps(tools: Path, tmp_path: Path, helm: str, release: str) -> None:
    """`helm upgrade --reuse-values` puts the values of the installed release in the place of this chart's defaults."""
    chart = shutil.copytree(CHART, tmp_path / CHART.name)
    (chart / "values.yaml").write_text(json.dumps(yaml.safe_load((RELEASES / f"{release}.yaml").read_text())))
    kept = render(tools / helm, {**IMAGE, "gfd": {"enabled": True}}, chart=chart)
    given = render(tools / helm, merged(values_of(RELEASES / f"{release}.yaml"), {"gfd": {"enabled": True}}))

    assert kept.kinds() == given.kinds()
    assert kept.at("DaemonSet/r-nvidia-device-plugin-mps: pod.containers") == given.at(
        "DaemonSet/r-nvidia-device-plugin-mps: pod.containers"
    )
