"""Addresses as people write them."""

from __future__ import annotations

import pytest

from gpu_core.errors import UsageError
from gpu_core.web.addresses import Address, parse_address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        pytest.param(":9400", Address(host="", port=9400), id="a port alone means every address"),
        pytest.param("127.0.0.1:0", Address(host="127.0.0.1", port=0), id="port 0 means a free one"),
        pytest.param("[::1]:80", Address(host="::1", port=80), id="IPv6 stands in brackets"),
        pytest.param("localhost:65535", Address(host="localhost", port=65535), id="a name"),
    ],
)
def test_an_address_is_read_and_written_back(text: str, address: Address) -> None:
    assert (parse_address(text), str(address)) == (address, text)


@pytest.mark.parametrize("host", ["10.0.0.1", "fd00::1"])
def test_any_number_may_stand_in_brackets(host: str) -> None:
    """Manifests cannot tell IPv4 from IPv6 in what the kubelet puts in, as for `[$(HOST_IP)]:9480`."""
    assert parse_address(f"[{host}]:9480") == Address(host=host, port=9480)


@pytest.mark.parametrize("text", ["", "9400", "a b:1", ":65536", "::1:80", "http://a:80", ":-1", "[]:80"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is no address to listen on"):
        parse_address(text)
