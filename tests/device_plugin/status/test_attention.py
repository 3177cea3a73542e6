"""The status page opens with what somebody should look at."""

from __future__ import annotations

from dataclasses import replace

import pytest

from device_plugin.status.page import node_page
from device_plugin.status.view import NodeView
from fakes.page_reading import Reader
from fakes.page_views import EMPTY, UNHEALTHY, gpu, healthy, node
from gpu_core.runtime.probes import Check
from gpu_core.web.attention import attention


def read(view: NodeView) -> Reader:
    return Reader(node_page(view))


def test_what_needs_attention_comes_first() -> None:
    page = read(node())
    assert page.words[:3] == [
        "3 of 5 GPUs need attention: 1, 3, 4 - NVIDIA Device Plugin on node-a.example.internal",
        "3 of 5 GPUs need attention: 1, 3, 4",
        "ready",
    ]
    places = [
        page.text.index(part) for part in ("GPU 1 un", "GPU 3 partly", "GPU 4 un", "Readiness", "GPU 0 h", "GPU 2 h")
    ]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("view", "badge"),
    [
        pytest.param(healthy(), '<span class="badge good">ready</span>', id="all is well"),
        pytest.param(node(), '<span class="badge warn">ready</span>', id="ready with unhealthy GPUs is no plain green"),
        pytest.param(
            replace(healthy(), checks=(Check(name="config", ok=True, reason="is refused", concern=True),)),
            '<span class="badge warn">ready</span>',
            id="nor is a config that is refused",
        ),
        pytest.param(EMPTY, '<span class="badge bad">not ready</span>', id="not ready"),
    ],
)
def test_readiness_has_the_colour_of_the_news(view: NodeView, badge: str) -> None:
    assert badge in node_page(view)


@pytest.mark.parametrize(
    ("view", "text", "gpus"),
    [
        pytest.param(node(8), "3 of 9 GPUs need attention: 1, 7, 8", (1, 7, 8), id="several of several"),
        pytest.param(
            replace(healthy(4), gpus=(*healthy(3).gpus, gpu(3, UNHEALTHY))),
            "1 of 4 GPUs needs attention: 3",
            (3,),
            id="one of several",
        ),
        pytest.param(
            replace(healthy(1), gpus=(gpu(0, UNHEALTHY),)), "The only GPU needs attention: 0", (0,), id="the only one"
        ),
        pytest.param(healthy(8), "All 8 GPUs are healthy", (), id="none of several"),
        pytest.param(healthy(1), "The only GPU is healthy", (), id="the only one is healthy"),
        pytest.param(EMPTY, "", (), id="no GPU"),
    ],
)
def test_gpus_that_need_attention_are_counted(view: NodeView, text: str, gpus: tuple[int, ...]) -> None:
    state = attention(view.gpus, view.unreadable)
    assert (state.text, state.gpus) == (text, gpus)


def test_a_healthy_node_says_so_first_and_shows_every_gpu() -> None:
    page = read(healthy(8))
    assert page.words[1:3] == ["All 8 GPUs are healthy", "ready"]
    assert "GPUs (8)" in page.text
    assert "attention" not in page.text


def test_what_is_wrong_with_a_whole_gpu_is_not_said_again_of_each_mig_device() -> None:
    migs = tuple(replace(mig, health=UNHEALTHY) for mig in node(1).gpus[0].migs)
    view = replace(healthy(1), gpus=(gpu(0, UNHEALTHY, mig_enabled=True, migs=migs),))
    page = read(view)
    assert page.text.count("XID 79") == 1
    assert "GPU 0 unhealthy" in page.text
    assert page.text.count("1g.5gb 4.8 GiB unhealthy") == 3
