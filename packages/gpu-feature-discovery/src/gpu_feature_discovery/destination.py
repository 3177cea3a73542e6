"""Where the labels go, decided from what the program was told. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from gpu_core.config.load import Loaded
from gpu_core.config.programs.gpu_feature_discovery import GfdSettings
from gpu_core.config.words import LabelDestination
from gpu_core.errors import UsageError

_IN_A_CLUSTER = "KUBERNETES_SERVICE_HOST"
_SPEAKS_OF_THE_API = ("flags.useNodeFeatureAPI", "--node-name")


def asked_by_person(loaded: Loaded[GfdSettings]) -> bool:
    """Whether someone typed `gfd --oneshot` outside a cluster, and said nothing of its API."""
    return loaded.config.flags.gfd.oneshot and _is_about_this_machine(loaded)


def _is_about_this_machine(loaded: Loaded[GfdSettings]) -> bool:
    """Whether we are outside a cluster, and none of the original's ways to speak of its API was used."""
    said = any(loaded.given(name) for name in _SPEAKS_OF_THE_API)
    return not said and not loaded.environ.get(_IN_A_CLUSTER)


def destination(loaded: Loaded[GfdSettings]) -> LabelDestination:
    """Return where the labels go, and check that what it needs is there. Raises UsageError naming the setting.

    Without --publish this is the original's rule. But outside a cluster, where nobody asks for its API, a file that is
    named gets the labels, and a person who names none sees them printed.
    """
    found = _chosen(loaded)
    for needed in (found, loaded.settings.publish_fallback):
        _check(needed, loaded)
    return found


def stands_in_for_nfd(loaded: Loaded[GfdSettings]) -> bool:
    """Whether labels may go to the Node itself: then nobody else says which nodes have a GPU."""
    return LabelDestination.NODE in (_chosen(loaded), loaded.settings.publish_fallback)


def _chosen(loaded: Loaded[GfdSettings]) -> LabelDestination:
    if loaded.settings.publish is not None:
        return loaded.settings.publish
    flags = loaded.config.flags
    names_file = loaded.given("flags.gfd.outputFile")
    if asked_by_person(loaded) and not names_file:
        return LabelDestination.STDOUT
    if flags.use_node_feature_api and not (names_file and _is_about_this_machine(loaded)):
        return LabelDestination.NODE_FEATURE
    return LabelDestination.FILE if flags.gfd.output_file else LabelDestination.STDOUT


def _check(found: LabelDestination | None, loaded: Loaded[GfdSettings]) -> None:
    settings = loaded.settings
    missing: Mapping[str, bool] = {}
    match found:
        case LabelDestination.NODE_FEATURE:
            missing = {
                "--node-name (NODE_NAME)": not settings.node_name,
                "--namespace (NAMESPACE)": not settings.namespace,
            }
        case LabelDestination.NODE:
            missing = {"--node-name (NODE_NAME)": not settings.node_name}
        case LabelDestination.FILE:
            missing = {"--output-file (GFD_OUTPUT_FILE)": not loaded.config.flags.gfd.output_file}
        case LabelDestination.STDOUT | None:
            pass
    empty = [name for name, lacks in missing.items() if lacks]
    if empty:
        raise UsageError(
            f"Publishing labels as {found} needs {' and '.join(empty)}, which is not set. "
            "Set it, or choose another destination with --publish=file, stdout, nodefeature or node."
        )
