"""The rooms of each package, floor by floor: a room is a folder, or a file that stands beside folders.

An import leads to the same room or to a lower floor; rooms of one floor know nothing of each other.
"""

from __future__ import annotations

PLAN = {
    "gpu_core": """
        counted errors passing
        files
        config
        runtime
        devices
        cdi health labels resources
        command hardware mps preference web
    """,
    "gpu_cluster": """
        access documents kinds rate
        errors
        bounded_calls watching
        transport
        cluster
        __init__
        node
    """,
    "gpu_kubelet": """
        channel sockets workers
        listener pods
    """,
    "device_plugin": """
        allocation metrics plan
        doctor plugin_api
        served_node status
        app
        serve
        cli
    """,
    "gpu_feature_discovery": """
        machine metrics outputs schedule standing survey topology
        publishing
        app oneshot
        serve
        cli
    """,
    "config_manager": """
        agenda choose metrics plan processes standing watch
        apply contest find
        switch
        report
        loop
        serve
        cli
    """,
    "mps_control_daemon": """
        commands interruption logs metrics processes restarts shm
        machine mount_shm
        compute_mode daemon
        supervised
        fleet
        app
        serve
        cli
    """,
}
"""Each line is a floor, from the ground up."""

ROOMS = {
    package: tuple(tuple(line.split()) for line in plan.split("\n") if line.strip()) for package, plan in PLAN.items()
}
