"""Labels of MIG devices: over the whole GPUs' labels (single), or beside them (mixed)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gpu_core.config.model import DEFAULT_RESOURCE
from gpu_core.config.words import MigStrategy
from gpu_core.devices.model import Gpu, MigDevice
from gpu_core.labels.labeler import PREFIX, Described, Labels, mig_devices
from gpu_core.labels.products import products
from gpu_core.labels.resource import Values, mig_attributes, mig_profile, shared_labels


def strategy(node: Described) -> Labels:
    """`mig.strategy`: how MIG devices are advertised, unless they are not."""
    word = node.config.flags.mig_strategy
    if not node.gpus or word is MigStrategy.NONE:
        return Labels()
    return Labels(values={f"{PREFIX}mig.strategy": word.value})


def devices(node: Described) -> Labels:
    """`gpu.*` under the single strategy, `mig-<profile>.*` under the mixed one."""
    enabled = tuple(gpu for gpu in node.gpus if gpu.mig_enabled)
    word = node.config.flags.mig_strategy
    if not enabled or word is MigStrategy.NONE:
        return Labels()
    if word is MigStrategy.SINGLE:
        return _single(node, enabled)
    values: Values = {}
    notes: tuple[str, ...] = ()
    for profile, migs in _by_profile(enabled).items():
        labels = _resource(f"{PREFIX}mig-{profile}", node, enabled, profile, migs)
        values |= labels.values
        notes += labels.notes
    return Labels(values=values, notes=notes)


def _single(node: Described, enabled: tuple[Gpu, ...]) -> Labels:
    profiles = _by_profile(enabled)
    if any(not gpu.mig_devices for gpu in enabled):
        return _invalid(node, enabled, "a GPU in MIG mode has no MIG devices")
    if len(enabled) < len(node.gpus):
        return _invalid(node, enabled, "only some of the GPUs are in MIG mode")
    if len(profiles) != 1:
        return _invalid(node, enabled, f"MIG devices of several profiles are present ({', '.join(profiles)})")
    ((profile, migs),) = profiles.items()
    return _resource(DEFAULT_RESOURCE, node, enabled, profile, migs)


def _invalid(node: Described, enabled: tuple[Gpu, ...], reason: str) -> Labels:
    name = products(node, enabled)[0].written(suffix="-MIG-INVALID")
    return Labels(
        values={
            f"{DEFAULT_RESOURCE}.product": name.value,
            f"{DEFAULT_RESOURCE}.count": "0",
            f"{DEFAULT_RESOURCE}.replicas": "0",
            f"{DEFAULT_RESOURCE}.sharing-strategy": "",
            f"{DEFAULT_RESOURCE}.memory": "0",
        },
        notes=name.notes,
        warnings=(f"The MIG strategy single does not fit this node: {reason}.",),
    )


def _resource(
    resource: str, node: Described, enabled: tuple[Gpu, ...], profile: str, migs: tuple[MigDevice, ...]
) -> Labels:
    owners = {mig.parent_uuid for mig in migs}
    product = products(node, (gpu for gpu in enabled if gpu.uuid in owners))[0]
    # Devices of one profile are alike but for their compute instances; the least one's facts hold for all.
    example = min(migs, key=lambda mig: (mig.attributes.memory_mib, mig.attributes.multiprocessors, mig.uuid))
    base = shared_labels(resource, node.config, product=product, count=len(migs), part=f"-MIG-{profile}")
    return replace(base, values={**base.values, **mig_attributes(resource, example)})


def _by_profile(enabled: Iterable[Gpu]) -> dict[str, tuple[MigDevice, ...]]:
    found: dict[str, tuple[MigDevice, ...]] = {}
    for mig in sorted(mig_devices(enabled), key=mig_profile):
        profile = mig_profile(mig)
        found[profile] = (*found.get(profile, ()), mig)
    return found
