from __future__ import annotations

import pytest

from gpu_demo.kubelet.registration import complaint, is_extended_resource


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("nvidia.com/gpu", id="a domain and a name"),
        pytest.param("nvidia.com/mig-1g.10gb.me", id="dots and dashes inside the name"),
        pytest.param("nvidia.com/GPU_1", id="capitals and underscores in the name"),
        pytest.param("gpu/x", id="a domain of one label"),
        pytest.param("nvidia.com/" + "x" * 63, id="a name of 63 characters"),
        pytest.param("a" * 244 + "/x", id="a domain that has room for the quota prefix"),
    ],
)
def test_a_name_that_a_kubelet_takes(name: str) -> None:
    assert is_extended_resource(name)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("", id="nothing"),
        pytest.param("gpu", id="no domain"),
        pytest.param("/gpu", id="an empty domain"),
        pytest.param("nvidia.com/", id="an empty name"),
        pytest.param("nvidia.com/a/b", id="two slashes"),
        pytest.param("kubernetes.io/gpu", id="Kubernetes' own domain"),
        pytest.param("gpu.kubernetes.io/x", id="a domain below Kubernetes' own"),
        pytest.param("requests.nvidia.com/gpu", id="a quota's name"),
        pytest.param("NVIDIA.com/gpu", id="capitals in the domain"),
        pytest.param("nvidia..com/gpu", id="an empty label in the domain"),
        pytest.param("nvidia.com/gpu-", id="a name that ends with a dash"),
        pytest.param("nvidia.com/gpu\n", id="a line end"),
        pytest.param("nvidia.com/" + "x" * 64, id="a name of 64 characters"),
        pytest.param("a" * 245 + "/x", id="a domain without room for the quota prefix"),
    ],
)
def test_a_name_that_a_kubelet_refuses(name: str) -> None:
    assert not is_extended_resource(name)


def test_only_v1beta1_is_spoken() -> None:
    assert complaint(version="v1beta1", resource="nvidia.com/gpu") is None
    assert complaint(version="v1alpha", resource="nvidia.com/gpu") == (
        "API version 'v1alpha' is not supported by this kubelet, which speaks v1beta1"
    )


def test_a_refused_name_is_quoted() -> None:
    assert complaint(version="v1beta1", resource="gpu") == (
        "'gpu' is no name of an extended resource: it needs a domain, as in example.com/gpu"
    )
