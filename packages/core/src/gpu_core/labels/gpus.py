"""Labels of whole GPUs: the `gpu.*` set, and what it cannot say on nodes with several models."""

from __future__ import annotations

from gpu_core.config.model import DEFAULT_RESOURCE
from gpu_core.config.words import ExtraLabels, SharingStrategy
from gpu_core.labels.labeler import PREFIX, Labels, Node
from gpu_core.labels.products import Model, models
from gpu_core.labels.resource import Values, base_labels, shared_labels

# The name part of a label's key holds 63 characters, of which `model-` and `.product` need 14.
_MODEL_KEY_LIMIT = 49


def node_set(node: Node) -> Labels:
    """`gpu.*`: the model that stands for the node, how many GPUs of it there are, and what one offers.

    GPUs in MIG mode count too, as they always have. Where all GPUs of the model are partitioned, there is
    nothing to share, which `gpu.replicas` 0 says.
    """
    found = models(node, node.gpus)
    if not found:
        return Labels()
    model = found[0]
    if model.whole:
        base = shared_labels(DEFAULT_RESOURCE, node.config, model=model, count=len(model.gpus))
    else:
        product = model.written()
        values = base_labels(
            DEFAULT_RESOURCE,
            product_value=product.value,
            count=len(model.gpus),
            replicas=0,
            sharing=SharingStrategy.NONE,
        )
        base = Labels(values=values, notes=product.notes)
    warnings = (_several_models(found),) if len(found) > 1 else ()
    facts = _memory(DEFAULT_RESOURCE, model) | _family(DEFAULT_RESOURCE, model) | _compute(DEFAULT_RESOURCE, model)
    return Labels(values={**base.values, **facts}, notes=base.notes, warnings=warnings)


def model_sets(node: Node) -> Labels:
    """`model-<product>.*`: one set per model, where `gpu.*` can only speak for one of them."""
    found = models(node, node.gpus)
    several_whole = sum(bool(model.whole) for model in found) > 1
    match node.config.flags.gfd.extra_labels:
        case ExtraLabels.NONE:
            return Labels()
        case ExtraLabels.AUTO if not several_whole:
            return Labels()
        case _:
            pass
    values: Values = {}
    notes: tuple[str, ...] = ()
    for model in sorted(found, key=lambda model: model.name):
        short, product = model.written(limit=_MODEL_KEY_LIMIT), model.written()
        key = f"{PREFIX}model-{short.value}"
        values[f"{key}.product"] = product.value
        values[f"{key}.count"] = str(len(model.gpus))
        values |= _memory(key, model) | _family(key, model)
        notes += product.notes + short.notes
    return Labels(values=values, notes=notes)


def whole_count(node: Node) -> Labels:
    """`gpu.whole-count`: GPUs of any model that are not in MIG mode, the number that `gpu.count` does not tell."""
    if not node.gpus or node.config.flags.gfd.extra_labels is not ExtraLabels.ALL:
        return Labels()
    whole = sum(not gpu.mig_enabled for gpu in node.gpus)
    return Labels(values={f"{PREFIX}gpu.whole-count": str(whole)})


def _memory(resource: str, model: Model) -> Values:
    return {f"{resource}.memory": str(model.memory_mib)} if model.memory_mib else {}


def _family(resource: str, model: Model) -> Values:
    return {f"{resource}.family": model.family} if model.family is not None else {}


def _compute(resource: str, model: Model) -> Values:
    if model.compute_capability is None:
        return {}
    major, minor = model.compute_capability
    return {f"{resource}.compute.major": str(major), f"{resource}.compute.minor": str(minor)}


def _several_models(found: tuple[Model, ...]) -> str:
    names = ", ".join(sorted(model.name for model in found))
    return f"This node has GPUs of several models ({names}); the gpu labels describe {found[0].name}."
