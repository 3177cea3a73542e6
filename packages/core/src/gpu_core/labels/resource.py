"""Labels that every resource has, whole GPUs and MIG devices alike, under the resource's own name."""

from __future__ import annotations

from gpu_core.config.model import Config
from gpu_core.config.sharing import ReplicatedResource
from gpu_core.config.words import SharingStrategy
from gpu_core.devices.model import MigDevice
from gpu_core.labels.labeler import Labels
from gpu_core.labels.products import Product

Values = dict[str, str]


def base_labels(resource: str, *, product_value: str, count: int, replicas: int, sharing: SharingStrategy) -> Values:
    """Return the labels that describe a resource's product, its number of devices and how they are shared."""
    return {
        f"{resource}.product": product_value,
        f"{resource}.count": str(count),
        f"{resource}.replicas": str(replicas),
        f"{resource}.sharing-strategy": sharing.value,
    }


def shared_labels(resource: str, config: Config, *, product: Product, count: int, part: str = "") -> Labels:
    """Return the base labels of a resource whose devices are shared as the configuration says.

    The label is the product's name, then `-MIG-<profile>` as `part`, then `-SHARED` for unrenamed shares.
    """
    share = _share(config, resource)
    shared = share is not None and not _renamed(config, share)
    name = product.written(suffix=part + ("-SHARED" if shared else ""))
    values = base_labels(
        resource,
        product_value=name.value,
        count=count,
        replicas=1 if share is None else share.replicas,
        sharing=SharingStrategy.NONE if share is None else config.sharing.strategy,
    )
    return Labels(values=values, notes=name.notes)


def mig_profile(mig: MigDevice) -> str:
    """Return the profile as resource names write it: `1g.5gb+me` becomes `1g.5gb.me`."""
    return mig.profile.replace("+", ".")


def mig_attributes(resource: str, mig: MigDevice) -> Values:
    """Return the labels that describe one MIG device of a resource; memory is in MiB."""
    attributes = mig.attributes
    numbers = {
        "memory": attributes.memory_mib,
        "multiprocessors": attributes.multiprocessors,
        "slices.gi": attributes.gpu_instance_slices,
        "slices.ci": attributes.compute_instance_slices,
        "engines.copy": attributes.copy_engines,
        "engines.decoder": attributes.decoders,
        "engines.encoder": attributes.encoders,
        "engines.jpeg": attributes.jpeg_engines,
        "engines.ofa": attributes.ofa_engines,
    }
    return {f"{resource}.{name}": str(number) for name, number in numbers.items()}


def _share(config: Config, resource: str) -> ReplicatedResource | None:
    return next((entry for _, entry in config.sharing.entries if entry.name == resource), None)


def _renamed(config: Config, share: ReplicatedResource) -> bool:
    # Without custom resources a written `rename` is ignored everywhere, so the name stays shared with whole devices.
    return config.sharing.replicated.rename_by_default or (config.flags.custom_resources and bool(share.rename))
