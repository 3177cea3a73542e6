"""The `kubernetes` package is large: it is loaded only where it is used, and its models never."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import gpu_cluster
from fakes.api_server import ApiServer
from fakes.kubeconfig import write_kubeconfig

SOURCES = sorted(Path(gpu_cluster.__path__[0]).glob("*.py"))

PROGRAM = """
import sys
import gpu_cluster
assert "kubernetes" not in sys.modules and "urllib3" not in sys.modules
cluster = gpu_cluster.connect(kubeconfig=sys.argv[1], environ={})
cluster.get(gpu_cluster.NODES, "a")
list(cluster.watch(gpu_cluster.NODES, resource_version="0", timeout=0.1))
cluster.patch(gpu_cluster.NODES, "a", {"metadata": {"labels": {"x": "y"}}})
cluster.close()
print([name for name in sys.modules if name.startswith(("kubernetes.client.models.", "kubernetes.client.api."))])
"""


def test_reading_watching_and_patching_a_node_loads_no_model(server: ApiServer, tmp_path: Path) -> None:
    server.put_node("a")
    kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", server.url)
    ran = subprocess.run([sys.executable, "-c", PROGRAM, kubeconfig], capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr) == ("[]\n", "")


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_kubernetes_is_imported_inside_functions_and_never_its_models(source: Path) -> None:
    tree = ast.parse(source.read_text())
    imported = {
        (node, module)
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for module in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [name.name for name in node.names])
        if module.split(".")[0] in ("kubernetes", "urllib3")
    }
    assert [module for node, module in imported if node in tree.body] == []
    assert [
        module for _, module in imported if module.startswith(("kubernetes.client.models", "kubernetes.client.api."))
    ] == []
    names = {name.name for node, _ in imported if isinstance(node, ast.ImportFrom) for name in node.names}
    assert [name for name in names if name.startswith("V1") or name.endswith("V1Api")] == []
