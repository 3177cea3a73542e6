"""The closed sets of words that the config file and the flags accept."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class MigStrategy(StrEnum):
    """How MIG devices are advertised."""

    NONE = "none"
    SINGLE = "single"
    MIXED = "mixed"


class DeviceListStrategy(StrEnum):
    """How a container is told which devices are its own."""

    ENVVAR = "envvar"
    VOLUME_MOUNTS = "volume-mounts"
    CDI_ANNOTATIONS = "cdi-annotations"
    CDI_CRI = "cdi-cri"

    @property
    def is_cdi(self) -> bool:
        """Whether the strategy hands out names of CDI devices."""
        return self in (DeviceListStrategy.CDI_ANNOTATIONS, DeviceListStrategy.CDI_CRI)


def uses_cdi(strategies: Iterable[DeviceListStrategy]) -> bool:
    """Tell whether containers hear of their devices through CDI, possibly among other ways."""
    return any(strategy.is_cdi for strategy in strategies)


def only_cdi(strategies: Iterable[DeviceListStrategy]) -> bool:
    """Tell whether containers hear of their devices through CDI alone."""
    return all(strategy.is_cdi for strategy in strategies)


class DeviceIDStrategy(StrEnum):
    """By what a container's devices are named."""

    UUID = "uuid"
    INDEX = "index"


class DeviceDiscoveryStrategy(StrEnum):
    """Where GPUs are looked for. `vfio` is for labels only."""

    AUTO = "auto"
    NVML = "nvml"
    TEGRA = "tegra"
    VFIO = "vfio"


class AllocationPolicy(StrEnum):
    """Which replicas are preferred: spread over the GPUs, or filling one GPU after another."""

    DISTRIBUTED = "distributed"
    PACKED = "packed"


class SharingStrategy(StrEnum):
    """How GPUs are shared between containers."""

    NONE = "none"
    TIME_SLICING = "time-slicing"
    MPS = "mps"


class RecoveryMode(StrEnum):
    """What makes an unhealthy device healthy again.

    `driver`: NVML's recovery action says none and the device answers; on drivers without that field, only a
    restart. `probe`: as `driver`, but on drivers without the field the device's answers alone suffice.
    `off`: only a restart.
    """

    DRIVER = "driver"
    PROBE = "probe"
    OFF = "off"


class XidDefaults(StrEnum):
    """Which XIDs change nothing where nothing else is said.

    `original`: those of NVIDIA's own plugin. `catalogue`: those after which NVIDIA's XID catalogue wants the
    application restarted, or nothing done, and those that only follow another.
    """

    ORIGINAL = "original"
    CATALOGUE = "catalogue"


class LabelDestination(StrEnum):
    """Where gpu-feature-discovery publishes the labels."""

    FILE = "file"
    STDOUT = "stdout"
    NODE_FEATURE = "nodefeature"
    NODE = "node"


class ExtraLabels(StrEnum):
    """Which labels are published that the original does not have.

    `auto`: one set per model on nodes whose whole GPUs are of several models, where the original's set is
    ambiguous. `all`: those sets and the count of whole GPUs on every node. `none`: only the original's.
    """

    AUTO = "auto"
    ALL = "all"
    NONE = "none"


class LabelFormat(StrEnum):
    """How labels are written on standard output; `labels` is what node-feature-discovery reads."""

    LABELS = "labels"
    JSON = "json"
    YAML = "yaml"
    TABLE = "table"


class LogFormat(StrEnum):
    """How log lines look: JSON for collectors, text for people; `auto` is text on a terminal and JSON elsewhere."""

    AUTO = "auto"
    JSON = "json"
    TEXT = "text"


class LogLevel(StrEnum):
    """The least severity that is logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class FallbackStrategy(StrEnum):
    """How config-manager chooses a config when neither label nor default names one."""

    NAMED = "named"
    SINGLE = "single"
    EMPTY = "empty"
