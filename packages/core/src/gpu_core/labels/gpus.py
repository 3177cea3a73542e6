"""Labels of whole GPUs: the `gpu.*` set, and what it cannot say on nodes with several products."""

from __future__ import annotations

from gpu_core.config.model import DEFAULT_RESOURCE
from gpu_core.config.words import ExtraLabels, SharingStrategy
from gpu_core.labels.labeler import PREFIX, Described, Labels
from gpu_core.labels.products import Product, products
from gpu_core.labels.resource import Values, base_labels, shared_labels

# The name part of a label's key holds 63 characters, of which `model-` and `.product` need 14.
_MODEL_KEY_LIMIT = 49


def node_set(node: Described) -> Labels:
    """`gpu.*`: the product that stands for the node, how many GPUs of it there are, and what one offers.

    GPUs in MIG mode count too, as they always have. Where all GPUs of the product are partitioned, there is
    nothing to share, which `gpu.replicas` 0 says.
    """
    found = products(node, node.gpus)
    if not found:
        return Labels()
    product = found[0]
    if product.whole:
        base = shared_labels(DEFAULT_RESOURCE, node.config, product=product, count=len(product.gpus))
    else:
        name = product.written()
        values = base_labels(
            DEFAULT_RESOURCE,
            product_value=name.value,
            count=len(product.gpus),
            replicas=0,
            sharing=SharingStrategy.NONE,
        )
        base = Labels(values=values, notes=name.notes)
    warnings = (_several_models(found),) if len(found) > 1 else ()
    facts = (
        _memory(DEFAULT_RESOURCE, product) | _family(DEFAULT_RESOURCE, product) | _compute(DEFAULT_RESOURCE, product)
    )
    return Labels(values={**base.values, **facts}, notes=base.notes, warnings=warnings)


def model_sets(node: Described) -> Labels:
    """`model-<product>.*`: one set per product, where `gpu.*` can only speak for one of them."""
    found = products(node, node.gpus)
    several_whole = sum(bool(product.whole) for product in found) > 1
    match node.config.flags.gfd.extra_labels:
        case ExtraLabels.NONE:
            return Labels()
        case ExtraLabels.AUTO if not several_whole:
            return Labels()
        case _:
            pass
    values: Values = {}
    notes: tuple[str, ...] = ()
    for product in sorted(found, key=lambda product: product.name):
        short, name = product.written(limit=_MODEL_KEY_LIMIT), product.written()
        key = f"{PREFIX}model-{short.value}"
        values[f"{key}.product"] = name.value
        values[f"{key}.count"] = str(len(product.gpus))
        values |= _memory(key, product) | _family(key, product)
        notes += name.notes + short.notes
    return Labels(values=values, notes=notes)


def whole_count(node: Described) -> Labels:
    """`gpu.whole-count`: GPUs of any product that are not in MIG mode, the number that `gpu.count` does not tell."""
    if not node.gpus or node.config.flags.gfd.extra_labels is not ExtraLabels.ALL:
        return Labels()
    whole = sum(not gpu.mig_enabled for gpu in node.gpus)
    return Labels(values={f"{PREFIX}gpu.whole-count": str(whole)})


def _memory(resource: str, product: Product) -> Values:
    return {f"{resource}.memory": str(product.memory_mib)} if product.memory_mib else {}


def _family(resource: str, product: Product) -> Values:
    return {f"{resource}.family": product.family} if product.family is not None else {}


def _compute(resource: str, product: Product) -> Values:
    if product.compute_capability is None:
        return {}
    major, minor = product.compute_capability
    return {f"{resource}.compute.major": str(major), f"{resource}.compute.minor": str(minor)}


def _several_models(found: tuple[Product, ...]) -> str:
    names = ", ".join(sorted(product.name for product in found))
    return f"This node has GPUs of several models ({names}); the gpu labels describe {found[0].name}."
