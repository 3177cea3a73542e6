from __future__ import annotations

from pathlib import Path

import pytest

from gpu_core.config.load import load
from gpu_core.config.programs.gpu_feature_discovery import GPU_FEATURE_DISCOVERY
from gpu_core.config.words import LabelDestination
from gpu_core.errors import UsageError
from gpu_feature_discovery.outputs.destination import Opener, destination

NO_NODE_NAME = "nodefeature needs --node-name (NODE_NAME), which is not set"
NO_FILE_NAME = "file needs --output-file (GFD_OUTPUT_FILE), which is not set"
IN_A_POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}


@pytest.mark.parametrize(
    ("argv", "environ", "expected"),
    [
        pytest.param(["--oneshot"], {}, LabelDestination.STDOUT, id="a person asks for the labels"),
        pytest.param(
            ["--oneshot", "--node-name=a"],
            {},
            LabelDestination.NODE_FEATURE,
            id="a person who names a node",
        ),
        pytest.param(
            ["--oneshot"],
            IN_A_POD | {"NODE_NAME": "a"},
            LabelDestination.NODE_FEATURE,
            id="a pod with the original's settings",
        ),
        pytest.param(
            ["--oneshot", "--use-node-feature-api=false"],
            {},
            LabelDestination.FILE,
            id="a person without the API",
        ),
        pytest.param(
            ["--oneshot"],
            {"GFD_OUTPUT_FILE": "/x", "NODE_NAME": "a"},
            LabelDestination.NODE_FEATURE,
            id="the API wins over a file",
        ),
        pytest.param(["--node-name=a"], {}, LabelDestination.NODE_FEATURE, id="the API by default"),
        pytest.param(["--oneshot", "-o", "x"], {}, LabelDestination.FILE, id="a person who names a file"),
        pytest.param(["--oneshot"], {"GFD_OUTPUT_FILE": "/x"}, LabelDestination.FILE, id="a file named by variable"),
        pytest.param(["-o", "x"], {}, LabelDestination.FILE, id="a file kept up to date outside a cluster"),
        pytest.param(["--oneshot", "-o", ""], {}, LabelDestination.STDOUT, id="a person who names no file"),
        pytest.param(
            ["--oneshot", "-o", "x"],
            IN_A_POD | {"NODE_NAME": "a"},
            LabelDestination.NODE_FEATURE,
            id="a pod that names a file beside the API",
        ),
        pytest.param(
            ["--oneshot", "-o", "x", "--use-node-feature-api"],
            {"NODE_NAME": "a"},
            LabelDestination.NODE_FEATURE,
            id="a person who asks for the API",
        ),
        pytest.param(["-o", "x", "--publish=stdout"], {}, LabelDestination.STDOUT, id="stdout in spite of a file"),
        pytest.param(["--use-node-feature-api=false"], {}, LabelDestination.FILE, id="a file without the API"),
        pytest.param(
            ["--use-node-feature-api=false", "--output-file="], {}, LabelDestination.STDOUT, id="an empty file name"
        ),
        pytest.param(["--publish=stdout"], {"NODE_NAME": "a"}, LabelDestination.STDOUT, id="stdout asked for"),
        pytest.param(["--publish=file"], {}, LabelDestination.FILE, id="the file asked for"),
        pytest.param(["--publish=node", "--node-name=a"], {}, LabelDestination.NODE, id="the Node asked for"),
        pytest.param(
            [],
            {"GFD_PUBLISH": "nodefeature", "NODE_NAME": "a"},
            LabelDestination.NODE_FEATURE,
            id="the API asked for by variable",
        ),
    ],
)
def test_destination(argv: list[str], environ: dict[str, str], expected: LabelDestination) -> None:
    assert destination(load(GPU_FEATURE_DISCOVERY, argv, environ)) is expected


def test_a_file_named_in_the_config_file_is_an_answer_too(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("flags:\n  useNodeFeatureAPI: false\n  gfd:\n    oneshot: true\n    outputFile: /x\n")
    loaded = load(GPU_FEATURE_DISCOVERY, [f"--config-file={config}"], {})
    assert destination(loaded) is LabelDestination.FILE


@pytest.mark.parametrize(
    ("argv", "environ", "message"),
    [
        pytest.param([], {}, NO_NODE_NAME, id="no node name"),
        pytest.param(
            ["--oneshot"],
            IN_A_POD,
            "nodefeature needs --node-name (NODE_NAME), which is not set",
            id="no node name in a pod",
        ),
        pytest.param(
            [],
            {"NODE_NAME": "", "NAMESPACE": ""},
            "nodefeature needs --node-name (NODE_NAME) and --namespace (NAMESPACE), which is not set",
            id="neither node nor namespace",
        ),
        pytest.param(["--publish=node"], {}, "node needs --node-name (NODE_NAME), which is not set", id="which Node"),
        pytest.param(
            ["--publish=file", "--output-file="],
            {},
            "file needs --output-file (GFD_OUTPUT_FILE), which is not set",
            id="a file without name",
        ),
    ],
)
def test_what_a_destination_lacks_is_named(argv: list[str], environ: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        destination(load(GPU_FEATURE_DISCOVERY, argv, environ))
    assert message in str(caught.value)


def test_a_node_without_a_file_and_a_namespace_has_no_other_place_where_labels_may_be_left() -> None:
    argv = ["--publish=node", "--node-name=a", "--namespace=", "--output-file="]
    opener = Opener(clock=lambda: 0.0, warn=lambda _: None)
    assert opener.former(LabelDestination.NODE, load(GPU_FEATURE_DISCOVERY, argv, {})) == ()
