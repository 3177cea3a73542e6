"""Who may import whom, and which modules may touch the world."""

from __future__ import annotations

import pytest

from layers.edges import BARE_READERS, EDGES
from layers.rooms import ROOMS
from layers.tree import CLUSTER, CORE, DEMO, KUBELET, PACKAGES, PROGRAMS, calls, imports, modules, tops

# What a pure module has no business with: the system, other threads and processes, the network, the clock, the driver.
WORLD = frozenset(
    {
        *("os", "shutil", "tempfile", "fcntl", "select", "inotify_simple"),
        *("threading", "subprocess", "signal", "time"),
        *("socket", "http", "urllib3", "grpc", "kubernetes"),
        *("ctypes", "pynvml"),
    }
)
# The methods of a path that go to the disk; a pure module may only reckon with paths.
DISK = frozenset(
    {
        *("open", "read_text", "read_bytes", "write_text", "write_bytes"),
        *("exists", "is_file", "is_dir", "is_char_device", "is_symlink", "is_socket", "stat", "lstat", "readlink"),
        *("iterdir", "glob", "rglob", "mkdir", "touch", "unlink", "rmdir", "chmod", "symlink_to"),
    }
)
SHIPPED = sorted(name for name in modules() if name.partition(".")[0] != DEMO)


def package(module: str) -> str:
    """Return the import package that a module belongs to."""
    return module.partition(".")[0]


@pytest.mark.parametrize("module", [name for name in SHIPPED if name not in EDGES])
def test_a_pure_module_does_not_touch_the_world(module: str) -> None:
    touched = sorted((tops(modules()[module]) & WORLD) | (calls(modules()[module]) & DISK))
    assert touched == [], "Take the world as an argument, or name the module in tests/layers/edges.py."


def test_every_edge_exists() -> None:
    assert sorted(EDGES - modules().keys()) == []


@pytest.mark.parametrize("module", [name for name in SHIPPED if package(name) == CORE])
def test_core_stands_alone(module: str) -> None:
    forbidden = {"grpc", "kubernetes", "google"} | (PACKAGES - {CORE})
    assert sorted(tops(modules()[module]) & forbidden) == []


@pytest.mark.parametrize("module", [name for name in SHIPPED if package(name) == CLUSTER])
def test_access_to_the_cluster_knows_no_program(module: str) -> None:
    assert sorted(tops(modules()[module]) & (PROGRAMS | {KUBELET, DEMO})) == []


@pytest.mark.parametrize("module", [name for name in SHIPPED if package(name) == KUBELET])
def test_the_kubelets_side_knows_no_program_and_no_cluster(module: str) -> None:
    assert sorted(tops(modules()[module]) & (PROGRAMS | {CLUSTER, DEMO})) == []


@pytest.mark.parametrize("module", [name for name in SHIPPED if package(name) in PROGRAMS])
def test_programs_do_not_know_each_other(module: str) -> None:
    others = (PROGRAMS | {DEMO}) - {package(module)}
    assert sorted(tops(modules()[module]) & others) == []


@pytest.mark.parametrize("module", [name for name in SHIPPED if package(name) == CORE and name not in EDGES])
def test_a_pure_module_of_core_does_not_reach_the_world_through_another(module: str) -> None:
    imported = imports(modules()[module])
    assert sorted(edge for edge in EDGES if any(f"{name}.".startswith(f"{edge}.") for name in imported)) == []


@pytest.mark.parametrize("module", [name for name in SHIPPED if name not in BARE_READERS])
def test_files_that_others_may_replace_are_read_with_a_bound(module: str) -> None:
    bare = calls(modules()[module]) & {"read_text", "read_bytes"}
    assert sorted(bare) == [], "Read it with gpu_core.files, or name the module in tests/layers/edges.py."


def room(module: str) -> tuple[str, str]:
    """Return the package and the room that a module is in."""
    package, *rest = module.split(".")
    return package, rest[0] if rest else "__init__"


def floor(package: str, name: str) -> int:
    """Return the floor of a room, counted from the ground."""
    (found,) = [number for number, rooms in enumerate(ROOMS[package]) if name in rooms]
    return found


HOUSED = [name for name in SHIPPED if room(name)[1] != "__init__" or "__init__" in sum(ROOMS[package(name)], ())]


def test_every_room_is_there_once_and_every_module_is_in_one() -> None:
    planned = sorted((package, name) for package, floors in ROOMS.items() for names in floors for name in names)
    assert planned == sorted({room(module) for module in HOUSED})


@pytest.mark.parametrize("module", HOUSED)
def test_a_module_imports_from_its_own_room_and_from_lower_floors(module: str) -> None:
    package, name = room(module)
    known = modules().keys()
    within = {found for found in imports(modules()[module]) if found.split(".")[0] == package}
    imported = {found if found in known else found.rpartition(".")[0] for found in within}
    rooms = {room(found) for found in imported if found in HOUSED} - {(package, name)}
    above = sorted(other for _, other in rooms if floor(package, other) >= floor(package, name))
    assert above == [], "Move what is needed to a lower floor, or the module to a higher one (tests/layers/rooms.py)."
