"""A specification claims the lowest version that its contents need."""

import pytest

from gpu_core.cdi.model import ContainerEdits, DeviceNode, Mount, Spec, SpecDevice, document, required_version

PLAIN = ContainerEdits(mounts=(Mount(host_path="/x", container_path="/x"),))
NODE = ContainerEdits(device_nodes=(DeviceNode(path="/dev/x", host_path="/y/dev/x"),))


@pytest.mark.parametrize(
    ("spec", "version"),
    [
        pytest.param(Spec(kind="v/gpu", devices=(SpecDevice(name="a", edits=PLAIN),)), "0.3.0", id="mounts only"),
        pytest.param(Spec(kind="v/gpu", devices=(SpecDevice(name="0", edits=PLAIN),)), "0.5.0", id="a numeric name"),
        pytest.param(Spec(kind="v/gpu", devices=(SpecDevice(name="a", edits=NODE),)), "0.5.0", id="a host path"),
        pytest.param(
            Spec(kind="v/gpu", devices=(SpecDevice(name="a", edits=PLAIN),), edits=NODE), "0.5.0", id="one for all"
        ),
        pytest.param(
            Spec(kind="v/gpu", devices=(SpecDevice(name="a", edits=PLAIN, annotations=(("k", "v"),)),)),
            "0.6.0",
            id="annotations",
        ),
        pytest.param(Spec(kind="v/a.b", devices=()), "0.6.0", id="a dot in the class"),
        pytest.param(Spec(kind="v/gpu", devices=(), edits=ContainerEdits(additional_gids=(44,))), "0.7.0", id="groups"),
    ],
)
def test_lowest_version(spec: Spec, version: str) -> None:
    assert required_version(spec) == version


def test_the_document_leaves_empty_parts_out() -> None:
    spec = Spec(kind="v/gpu", devices=(SpecDevice(name="a", edits=NODE + PLAIN, annotations=(("coherent", "true"),)),))
    assert document(spec, "0.6.0") == {
        "cdiVersion": "0.6.0",
        "kind": "v/gpu",
        "devices": [
            {
                "name": "a",
                "annotations": {"coherent": "true"},
                "containerEdits": {
                    "deviceNodes": [{"path": "/dev/x", "hostPath": "/y/dev/x"}],
                    "mounts": [
                        {
                            "hostPath": "/x",
                            "containerPath": "/x",
                            "options": ["ro", "nosuid", "nodev", "rbind", "rprivate"],
                        }
                    ],
                },
            }
        ],
        "containerEdits": {},
    }


def test_edits_know_when_they_do_nothing() -> None:
    assert ContainerEdits().empty
    assert not PLAIN.empty
