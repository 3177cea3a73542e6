"""The modules that touch the world: files, sockets, processes, clocks, threads, NVML, gRPC, the API server.

This is the one place that says so. Every other module is pure, values in and values out, and a test holds it to
that. To add a module here is to say that it cannot be split into a decision and the few lines that act on it.
"""

from __future__ import annotations

EDGES = frozenset(
    {
        # core: what CDI looks for on the node
        "gpu_core.cdi.driver",
        "gpu_core.cdi.node",
        "gpu_core.cdi.platform_files",
        "gpu_core.cdi.search",
        "gpu_core.cdi.write",
        # core: the driver and the node's files, real and simulated
        "gpu_core.devices.choose",
        "gpu_core.devices.libcuda",
        "gpu_core.devices.node_files",
        "gpu_core.devices.nvml",
        "gpu_core.devices.nvml_calls",
        "gpu_core.devices.nvml_gpu",
        "gpu_core.devices.nvml_library",
        "gpu_core.devices.nvml_links",
        "gpu_core.devices.nvml_mig",
        "gpu_core.devices.nvml_monitor",
        "gpu_core.devices.simulated.backend",
        "gpu_core.devices.simulated.c_values",
        "gpu_core.devices.simulated.event_calls",
        "gpu_core.devices.simulated.files",
        "gpu_core.devices.simulated.gpu_calls",
        "gpu_core.devices.simulated.handles",
        "gpu_core.devices.simulated.library",
        "gpu_core.devices.simulated.link_calls",
        "gpu_core.devices.simulated.mig_calls",
        "gpu_core.devices.simulated.state",
        # core: files, processes, threads, signals and the network
        "gpu_core.runtime.build",
        "gpu_core.runtime.config_file",
        "gpu_core.runtime.counters",
        "gpu_core.runtime.files",
        "gpu_core.runtime.http",
        "gpu_core.runtime.http",
        "gpu_core.runtime.links",
        "gpu_core.runtime.operation",
        "gpu_core.runtime.process",
        "gpu_core.runtime.process_facts",
        "gpu_core.runtime.published",
        "gpu_core.runtime.signals",
        # access to the Kubernetes API
        "gpu_cluster.access",
        "gpu_cluster.cluster",
        "gpu_cluster.connect",
        "gpu_cluster.node_events",
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
        "device_plugin.app",
        "device_plugin.cli",
        "device_plugin.condition_keeper",
        "device_plugin.device_nodes",
        "device_plugin.hardware",
        "device_plugin.health_loop",
        "device_plugin.kubelet",
        "device_plugin.listener",
        "device_plugin.mps_watch",
        "device_plugin.node",
        "device_plugin.node_health",
        "device_plugin.node_reports",
        "device_plugin.operating",
        "device_plugin.plugins",
        "device_plugin.provision",
        "device_plugin.registrar",
        "device_plugin.resource_plugin",
        "device_plugin.serve",
        "device_plugin.servicer",
        "device_plugin.sockets",
        "device_plugin.source",
        "device_plugin.streams",
        # gpu-feature-discovery
        "gpu_feature_discovery.cli",
        "gpu_feature_discovery.facts",
        "gpu_feature_discovery.oneshot",
        "gpu_feature_discovery.operating",
        "gpu_feature_discovery.outputs.file",
        "gpu_feature_discovery.running",
        "gpu_feature_discovery.traces",
        # mps-control-daemon
        "mps_control_daemon.compute_mode",
        "mps_control_daemon.daemon",
        "mps_control_daemon.logs",
        "mps_control_daemon.processes",
        "mps_control_daemon.selinux",
    }
)
