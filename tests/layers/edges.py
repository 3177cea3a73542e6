"""The modules that touch the world: files, sockets, processes, clocks, threads, NVML, gRPC, the API server.

This is the one place that says so. Every other module is pure, values in and values out, and a test holds it to
that. To add a module here is to say that it cannot be split into a decision and the few lines that act on it.
"""

from __future__ import annotations

EDGES = frozenset(
    {
        # core
        "gpu_core.cdi.driver",
        "gpu_core.cdi.node",
        "gpu_core.cdi.platform_files",
        "gpu_core.cdi.search",
        "gpu_core.cdi.write",
        "gpu_core.runtime.config_file",
        "gpu_core.runtime.counters",
        "gpu_core.runtime.files",
        "gpu_core.runtime.links",
        "gpu_core.runtime.process",
        "gpu_core.runtime.published",
        # access to the Kubernetes API
        "gpu_cluster.access",
        "gpu_cluster.transport",
        "gpu_cluster.watching",
        # config-manager
        "config_manager.app",
        "config_manager.apply",
        "config_manager.cli",
        "config_manager.find",
        "config_manager.switch",
        "config_manager.watch",
        # device-plugin
        # gpu-feature-discovery
        "gpu_feature_discovery.facts",
        "gpu_feature_discovery.traces",
        # mps-control-daemon
        "mps_control_daemon.daemon",
        "mps_control_daemon.selinux",
    }
)
