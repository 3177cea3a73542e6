from __future__ import annotations

import os
import ssl
from pathlib import Path

import pytest
import trustme

from fakes.api_server import ApiServer
from fakes.kubeconfig import write_kubeconfig, write_service_account
from gpu_cluster import NODES, UnauthorizedError, UnreachableError, connect
from gpu_cluster.access import Kubeconfig, ServiceAccount, find_access, is_at_hand
from gpu_core.errors import ClusterError

FIRST, SECOND = "first", "second"

MISSHAPEN = """
current-context: a
contexts: [{name: a, context: b}]
users: [{name: b, user: {tokenFile: [c]}}]
clusters: [{name: b, cluster: d}]
"""


def server_context(ca: trustme.CA) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert("127.0.0.1").configure_cert(context)
    return context


def test_a_given_kubeconfig_wins_over_the_service_account(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.touch()
    environ = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    assert find_access(str(path), environ) == Kubeconfig(path=path)
    assert find_access("", environ) == ServiceAccount(host="10.0.0.1", port="443")


def test_neither_pod_nor_kubeconfig_is_said_plainly() -> None:
    with pytest.raises(ClusterError, match="Run inside a cluster or give --kubeconfig"):
        find_access(None, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"})


def test_the_service_account_is_used_over_tls_and_its_token_may_end_with_a_newline(tmp_path: Path) -> None:
    ca = trustme.CA()
    with ApiServer(tls=server_context(ca), tokens={FIRST}) as server:
        server.put_node("a")
        environ = write_service_account(tmp_path, server.url, token=FIRST + "\n", ca=ca.cert_pem.bytes())
        cluster = connect(environ=environ, service_account=tmp_path)
        assert cluster.get(NODES, "a")["metadata"]["name"] == "a"
        assert server.requests[0].headers["authorization"] == f"Bearer {FIRST}"
        cluster.close()


def test_a_rotated_token_is_used_by_the_next_request(tmp_path: Path) -> None:
    ca = trustme.CA()
    with ApiServer(tls=server_context(ca), tokens={FIRST}) as server:
        server.put_node("a")
        environ = write_service_account(tmp_path, server.url, token=FIRST, ca=ca.cert_pem.bytes())
        cluster = connect(environ=environ, service_account=tmp_path)
        cluster.get(NODES, "a")
        server.tokens = {SECOND}
        with pytest.raises(UnauthorizedError, match="Check the service account's token"):
            cluster.get(NODES, "a")
        write_service_account(tmp_path, server.url, token=SECOND, ca=ca.cert_pem.bytes())
        assert cluster.get(NODES, "a")["metadata"]["name"] == "a"
        cluster.close()


def test_a_rotated_certificate_authority_is_used_by_the_next_request(tmp_path: Path) -> None:
    old, new = trustme.CA(), trustme.CA()
    server = ApiServer(tls=server_context(old))
    server.start()
    server.put_node("a")
    environ = write_service_account(tmp_path, server.url, token=FIRST, ca=old.cert_pem.bytes())
    cluster = connect(environ=environ, service_account=tmp_path)
    cluster.get(NODES, "a")
    server.tls = server_context(new)
    server.restart()
    with pytest.raises(UnreachableError):
        cluster.get(NODES, "a")
    write_service_account(tmp_path, server.url, token=FIRST, ca=new.cert_pem.bytes())
    assert cluster.get(NODES, "a")["metadata"]["name"] == "a"
    cluster.close()
    server.stop()


def test_a_token_file_named_by_a_kubeconfig_rotates_too(tmp_path: Path) -> None:
    token_file = tmp_path / "token"
    token_file.write_text(FIRST + "\n")
    with ApiServer(tokens={FIRST}) as server:
        server.put_node("a")
        kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", server.url, token_file=token_file)
        cluster = connect(kubeconfig=str(kubeconfig), environ={})
        cluster.get(NODES, "a")
        server.tokens = {SECOND}
        token_file.write_text(SECOND + "\n")
        assert cluster.get(NODES, "a")["metadata"]["name"] == "a"
        cluster.close()


def test_a_kubeconfig_that_cannot_be_read_is_an_error_at_once(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    with pytest.raises(ClusterError) as caught:
        connect(kubeconfig=str(path), environ={})
    assert str(caught.value) == f"The file {path} cannot be read: No such file or directory."
    path.write_bytes(b"\xff")
    with pytest.raises(ClusterError) as caught:
        connect(kubeconfig=str(path), environ={})
    assert str(caught.value) == f"The file {path} is no text."


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("{", "is not YAML", id="not YAML"),
        pytest.param("[]", "holds no mapping", id="a list"),
        pytest.param("{}", "cannot be used", id="without a context"),
        pytest.param("{users: 5, clusters: {}}", "cannot be used", id="users that are no list"),
        pytest.param("{users: [a], clusters: [{cluster: 7}]}", "cannot be used", id="entries that are no mappings"),
        pytest.param(MISSHAPEN, "cannot be used", id="a context that is no mapping"),
    ],
)
def test_a_kubeconfig_that_cannot_be_used_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(text)
    cluster = connect(kubeconfig=str(path), environ={})
    with pytest.raises(ClusterError, match=message) as caught:
        cluster.get(NODES, "a")
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("token", "message"),
    [
        pytest.param("\n", "is empty", id="an empty token"),
        pytest.param(None, "cannot be read", id="no token"),
    ],
)
def test_a_service_account_that_cannot_be_used_is_named(tmp_path: Path, token: str | None, message: str) -> None:
    if token is not None:
        (tmp_path / "token").write_text(token)
    cluster = connect(
        environ={"KUBERNETES_SERVICE_HOST": "::1", "KUBERNETES_SERVICE_PORT": "1"}, service_account=tmp_path
    )
    with pytest.raises(ClusterError, match=message):
        cluster.get(NODES, "a")


def test_an_ipv6_service_address_is_put_in_brackets(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t")
    (tmp_path / "ca.crt").write_text("c")
    configuration = ServiceAccount(host="fd00::1", port="443", directory=tmp_path).configuration()
    assert configuration.host == "https://[fd00::1]:443"


@pytest.mark.parametrize("pipe", ["kubeconfig", "token"])
def test_a_named_pipe_in_the_place_of_a_credential_is_refused_and_not_waited_for(tmp_path: Path, pipe: str) -> None:
    file = write_kubeconfig(tmp_path / "kubeconfig", "http://127.0.0.1:1", token_file=tmp_path / "token")
    (tmp_path / "token").write_text("secret")
    (tmp_path / pipe).unlink()
    os.mkfifo(tmp_path / pipe)
    with pytest.raises(ClusterError, match=f"{pipe} cannot be read: it is a named pipe"):
        Kubeconfig(path=file).configuration()


@pytest.mark.parametrize(
    ("kubeconfig", "environ", "token", "expected"),
    [
        pytest.param("kubeconfig", {}, False, True, id="a kubeconfig"),
        pytest.param("missing", {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, True, False, id="a missing one"),
        pytest.param("", {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, True, True, id="a pod with a token"),
        pytest.param("", {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, False, False, id="a pod without a token"),
        pytest.param("", {}, True, False, id="no pod"),
    ],
)
def test_whether_there_is_a_way_that_proves_who_we_are(
    tmp_path: Path, kubeconfig: str, environ: dict[str, str], token: bool, expected: bool
) -> None:
    (tmp_path / "kubeconfig").touch()
    if token:
        (tmp_path / "token").touch()
    given = str(tmp_path / kubeconfig) if kubeconfig else None
    assert is_at_hand(given, environ, service_account=tmp_path) is expected
