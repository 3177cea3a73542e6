"""The driver's libraries are found wherever a driver root keeps them, in one order, and never outside of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.devices.test_ldcache import X86_64, cache
from fakes.driver_root import link, put
from gpu_core.config.load import load
from gpu_core.config.model import Flags
from gpu_core.config.programs.device_plugin import DEVICE_PLUGIN
from gpu_core.config.programs.gpu_feature_discovery import GPU_FEATURE_DISCOVERY
from gpu_core.config.programs.mps_control_daemon import MPS_CONTROL_DAEMON
from gpu_core.config.programs.options import Program
from gpu_core.devices.library_search import LibrarySearch, candidates

ML = "libnvidia-ml.so.1"


PROGRAMS = (DEVICE_PLUGIN, GPU_FEATURE_DISCOVERY, MPS_CONTROL_DAEMON)


def seen(root: Path, *named: str) -> list[str]:
    """Return what would be loaded, with paths as the root has them."""
    return [path.removeprefix(str(root)) for path in candidates(ML, LibrarySearch(root=str(root), named=named))]


def test_the_places_follow_each_other(tmp_path: Path) -> None:
    for directory in ("lib64", "usr/lib/x86_64-linux-gnu", "usr/lib64", "opt/named", "opt/cached", "opt/configured"):
        put(tmp_path, f"{directory}/{ML}")
    put(tmp_path, "etc/ld.so.cache", cache((X86_64, f"/opt/cached/{ML}"), (X86_64, "/opt/cached/libc.so.6")))
    put(tmp_path, "etc/ld.so.conf.d/nvidia.conf", b"/opt/configured\n/opt/named\n")
    assert seen(tmp_path, "/opt/named", "/missing") == [
        f"/opt/named/{ML}",
        f"/usr/lib64/{ML}",
        f"/usr/lib/x86_64-linux-gnu/{ML}",
        f"/lib64/{ML}",
        f"/opt/cached/{ML}",
        f"/opt/configured/{ML}",
        ML,
    ]


def test_what_is_found_early_spares_reading_the_rest(tmp_path: Path) -> None:
    put(tmp_path, f"usr/lib64/{ML}")
    found = candidates(ML, LibrarySearch(root=str(tmp_path)))
    assert next(found) == f"{tmp_path}/usr/lib64/{ML}"
    put(tmp_path, f"opt/{ML}")
    put(tmp_path, "etc/ld.so.conf.d/late.conf", b"/opt\n")
    assert list(found) == [f"{tmp_path}/opt/{ML}", ML]


def test_one_file_is_tried_once_whichever_ways_lead_to_it(tmp_path: Path) -> None:
    put(tmp_path, "usr/lib64/libnvidia-ml.so.550.1")
    link(tmp_path, f"usr/lib64/{ML}", "libnvidia-ml.so.550.1")
    link(tmp_path, "lib64", "usr/lib64")
    put(tmp_path, "etc/ld.so.cache", cache((X86_64, f"/lib64/{ML}"), (X86_64, f"/usr/lib64/{ML}")))
    assert seen(tmp_path) == ["/usr/lib64/libnvidia-ml.so.550.1", ML]


@pytest.mark.parametrize(
    "lay_out",
    [
        pytest.param(lambda root: link(root, f"usr/lib64/{ML}", f"../../../outside/{ML}"), id="a relative link out"),
        pytest.param(lambda root: link(root, "usr/lib64", "../../outside"), id="a directory that is a link out"),
        pytest.param(lambda root: link(root, f"usr/lib64/{ML}", "/nowhere"), id="a link that leads nowhere"),
        pytest.param(lambda root: (root / "usr/lib64" / ML).mkdir(parents=True), id="a directory of that name"),
        pytest.param(lambda root: put(root, "etc/ld.so.cache", b"junk"), id="a cache of other bytes"),
        pytest.param(lambda root: (root / "etc/ld.so.cache").mkdir(parents=True), id="a directory for a cache"),
        pytest.param(
            lambda root: put(root, "etc/ld.so.cache", cache((X86_64, f"/../outside/{ML}"))), id="a cache that leads out"
        ),
        pytest.param(
            lambda root: put(root, "etc/ld.so.conf.d/x.conf", b"/../outside\n/\x00\n/\xff\n"),
            id="directories that are none",
        ),
        pytest.param(lambda root: link(root, "etc/ld.so.conf.d", "../../outside"), id="a configuration outside"),
        pytest.param(lambda root: root.rmdir(), id="no root at all"),
    ],
)
def test_what_is_not_in_the_root_is_left_to_our_loader(tmp_path: Path, lay_out: Callable[[Path], object]) -> None:
    put(tmp_path, f"outside/{ML}")
    put(tmp_path, "outside/x.conf", b"/outside\n")
    root = tmp_path / "root"
    root.mkdir()
    lay_out(root)
    assert seen(root) == [ML]


def test_absolute_links_lead_below_the_root(tmp_path: Path) -> None:
    put(tmp_path, "opt/nvidia/libnvidia-ml.so.550.1")
    link(tmp_path, "etc/alternatives/nvidia-ml", "/opt/nvidia/libnvidia-ml.so.550.1")
    link(tmp_path, f"usr/lib/x86_64-linux-gnu/{ML}", "/etc/alternatives/nvidia-ml")
    put(tmp_path, "usr/share/nvidia.conf", b"/opt/nvidia\n")
    link(tmp_path, "etc/ld.so.conf.d/nvidia.conf", "/usr/share/nvidia.conf")
    assert seen(tmp_path) == ["/opt/nvidia/libnvidia-ml.so.550.1", ML]


def test_without_a_driver_root_only_our_loader_searches() -> None:
    assert list(candidates(ML, None)) == [ML]


def test_files_of_a_pattern_come_from_the_first_place_that_has_any(tmp_path: Path) -> None:
    put(tmp_path, "etc/ld.so.conf.d/x.conf", b"/opt/a\n")
    put(tmp_path, "opt/a/libcuda.so.550.1")
    search = LibrarySearch(root=str(tmp_path))
    assert search.first("libcuda.so.*.*") == ("/opt/a/libcuda.so.550.1",)
    put(tmp_path, "opt/b/libcuda.so.550.2")
    link(tmp_path, "opt/b/libcuda.so.1", "libcuda.so.550.2")
    put(tmp_path, "etc/ld.so.cache", cache((X86_64, "/opt/b/libcuda.so.1")))
    assert search.first("libcuda.so.*.*") == ("/opt/b/libcuda.so.550.2",)
    put(tmp_path, "usr/lib64/libcuda.so.550.3")
    assert search.first("libcuda.so.*.*") == ("/usr/lib64/libcuda.so.550.3",)
    assert search.first("libmissing.so") == ()


def test_messages_say_where_was_searched(tmp_path: Path) -> None:
    search = LibrarySearch(root=str(tmp_path), named=("/opt/nvidia/lib64",))
    assert search.searched().startswith(f"the driver root {tmp_path} (/opt/nvidia/lib64, /, /usr/lib64, ")
    assert search.searched().endswith("; no library of its ld.so.cache; no directory of its ld.so.conf.d)")
    put(tmp_path, "etc/ld.so.cache", cache((X86_64, "/x/libc.so.6"), (X86_64, "/x/libm.so.6")))
    put(tmp_path, "etc/ld.so.conf.d/x.conf", b"/opt/a\n/usr/lib64\n/opt/b\n")
    assert search.searched().endswith("; the 2 libraries of its ld.so.cache; /opt/a, /opt/b of its ld.so.conf.d)")
    assert LibrarySearch(root="/missing").searched() == "the driver root /missing (which is not there)"


@pytest.mark.parametrize(
    ("text", "directories"),
    [
        pytest.param("/opt/nvidia/lib64:/x", ("/opt/nvidia/lib64", "/x"), id="two"),
        pytest.param("opt/nvidia/lib64/", ("/opt/nvidia/lib64",), id="without the slash before, with one behind"),
        pytest.param(":/a::/a:", ("/a",), id="empty ones, and one twice"),
        pytest.param("", (), id="none"),
    ],
)
def test_directories_are_named_as_in_every_search_path(text: str, directories: tuple[str, ...]) -> None:
    assert Flags(driver_library_path=text).driver_library_directories == directories


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.name)
def test_every_program_that_reads_hardware_takes_them(program: Program[Any], tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("flags: {driverLibraryPath: /c, plugin: {containerDriverRoot: /root}}\n")
    asked = [f"--config-file={file}"]
    loaded = load(program, asked, {})
    assert (loaded.config.flags.driver_library_path, loaded.warnings) == ("/c", ())
    assert loaded.config.flags.plugin.container_driver_root == "/root"
    loaded = load(program, asked, {"DRIVER_LIBRARY_PATH": "/e"})
    assert loaded.config.flags.driver_library_path == "/e"
    loaded = load(program, [*asked, "--driver-library-path=/f"], {"DRIVER_LIBRARY_PATH": "/e"})
    assert loaded.config.flags.driver_library_path == "/f"
