"""Files are found below a root, and never outside of it."""

from pathlib import Path

import pytest

from fakes.driver_root import link, put
from gpu_core.cdi.search import Root


@pytest.fixture
def root(tmp_path: Path) -> Root:
    put(tmp_path, "secret")
    inside = tmp_path / "root"
    put(inside, "usr/lib64/libcuda.so.550.1")
    link(inside, "lib64", "usr/lib64")
    link(inside, "lib", "/usr/lib64")
    link(inside, "usr/lib64/libcuda.so.1", "libcuda.so.550.1")
    link(inside, "up", "../../../../secret")
    link(inside, "loop", "loop")
    link(inside, "gone", "nowhere")
    link(inside, "dotted", "./usr/./lib64/../lib64")
    return Root(str(inside))


@pytest.mark.parametrize(
    ("path", "real"),
    [
        pytest.param("/usr/lib64/libcuda.so.550.1", "/usr/lib64/libcuda.so.550.1", id="a plain file"),
        pytest.param("/lib64/libcuda.so.1", "/usr/lib64/libcuda.so.550.1", id="through two relative links"),
        pytest.param("/lib/libcuda.so.1", "/usr/lib64/libcuda.so.550.1", id="an absolute link stays in the root"),
        pytest.param("/dotted", "/usr/lib64", id="dots are followed"),
        pytest.param("/up", None, id="a link out of the root leads nowhere"),
        pytest.param("/loop", None, id="a link to itself leads nowhere"),
        pytest.param("/gone", None, id="a dangling link leads nowhere"),
        pytest.param("/", "/", id="the root itself"),
    ],
)
def test_links_are_followed_within_the_root(root: Root, path: str, real: str | None) -> None:
    assert root.resolve(path) == real


def test_finds_each_file_once_whichever_way_leads_there(root: Root) -> None:
    assert root.real_files(["/lib64", "/usr/lib64", "/missing"], "libcuda.so.*") == ("/usr/lib64/libcuda.so.550.1",)


def test_names_files_as_they_were_looked_for(root: Root) -> None:
    assert list(root.files(["/lib64"], "libcuda.so.5*")) == ["/lib64/libcuda.so.550.1"]


def test_directories_and_programs_without_the_right_to_run_are_no_executables(root: Root) -> None:
    put(Path(root.path), "usr/bin/nvidia-smi", mode=0o755)
    put(Path(root.path), "usr/bin/nvidia-doc", mode=0o644)
    (Path(root.path) / "usr/bin/nvidia-dir").mkdir()
    assert list(root.files(["/usr/bin"], "nvidia-*", executable=True)) == ["/usr/bin/nvidia-smi"]


def test_devices_are_character_devices_only(root: Root) -> None:
    assert [(found.path, found.major, found.minor) for found in Root("/").devices("/dev/null")] == [("/dev/null", 1, 3)]
    assert list(root.devices("/usr/lib64/libcuda.so.550.1")) == []
