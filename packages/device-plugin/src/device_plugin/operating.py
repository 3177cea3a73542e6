"""How a running plugin is watched from outside."""

from __future__ import annotations

import time
from collections.abc import Callable

from device_plugin.app import App
from device_plugin.metrics import SICK_SINCE, UNREAD_GPUS
from device_plugin.node_shown import node_view
from device_plugin.standing import STARTING, checks
from gpu_core.devices.driver_threads import by_function
from gpu_core.health.summary import sick_units
from gpu_core.page.node_document import node_document
from gpu_core.page.node_page import node_page
from gpu_core.page.node_view import NodeView
from gpu_core.page.program import ProgramView, program_document, program_page
from gpu_core.runtime.build import version
from gpu_core.runtime.counters import Counters
from gpu_core.runtime.metrics import STUCK_CALLS
from gpu_core.runtime.operation import Operation
from gpu_core.runtime.probes import Check, Pulse


def operation(app: Callable[[], App | None], node: str, counters: Counters, pulse: Pulse) -> Operation:
    """Return what the plugin on a node offers to those who watch it; `app` gives None until there is one."""

    def ready() -> tuple[Check, ...]:
        running = app()
        return STARTING if running is None else checks(running.standing())

    def shown() -> NodeView | None:
        running = app()
        if running is None:
            return None
        now, clock = time.time(), time.monotonic()
        return node_view(running.standing(), node=node, version=version(), now=now, clock=clock)

    def starting() -> ProgramView:
        return ProgramView(title="NVIDIA Device Plugin", version=version(), node=node, now=time.time(), checks=STARTING)

    def collect() -> None:
        running = app()
        if running is not None:
            running.node.count()
            _count_sick(counters, running)
            _count_unanswered(counters, running)

    return Operation(
        program="nvidia-device-plugin",
        counters=counters,
        pulse=pulse,
        ready=ready,
        page=lambda: program_page(starting()) if (view := shown()) is None else node_page(view),
        document=lambda: program_document(starting()) if (view := shown()) is None else node_document(view),
        collect=collect,
    )


def _count_unanswered(counters: Counters, running: App) -> None:
    inventory = running.node.inventory
    unread = () if inventory is None else inventory.unreadable
    counters.replace(UNREAD_GPUS, [({"index": str(gpu.index), "reason": str(gpu.fault)}, 1.0) for gpu in unread])
    counters.replace(STUCK_CALLS, by_function(running.node.stuck()))


def _count_sick(counters: Counters, running: App) -> None:
    offset = time.time() - time.monotonic()
    counters.replace(
        SICK_SINCE,
        [
            (
                {
                    "uuid": sick.uuid,
                    "index": sick.index,
                    "cause": sick.ailment.cause.value,
                    "reason": sick.ailment.reason,
                },
                round(sick.ailment.since + offset, 1),
            )
            for sick in sick_units(running.node.health)
        ],
    )
