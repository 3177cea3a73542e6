"""Which hooks are made, and how their tool is called."""

import pytest

from gpu_core.cdi.hooks import HookName, Hooks
from gpu_core.cdi.model import Hook

DEBUG = ("NVIDIA_CTK_DEBUG=false",)
CTK = Hooks(tool="/usr/bin/nvidia-ctk")


def made(*args: str, tool: str = "/usr/bin/nvidia-ctk") -> tuple[Hook, ...]:
    return (Hook(path=tool, args=args, env=DEBUG),)


@pytest.mark.parametrize(
    ("tool", "command"),
    [
        pytest.param("/usr/bin/nvidia-ctk", ("nvidia-ctk", "hook"), id="nvidia-ctk has a hook command"),
        pytest.param("/opt/toolkit/nvidia-cdi-hook", ("nvidia-cdi-hook",), id="nvidia-cdi-hook is one itself"),
        pytest.param("/opt/nvidia-ctk-1.18", ("nvidia-ctk-1.18",), id="only the exact name counts"),
    ],
)
def test_argument_form_follows_the_tools_name(tool: str, command: tuple[str, ...]) -> None:
    hooks = Hooks(tool=tool).plain(HookName.UPDATE_APPLICATION_PROFILE)
    assert hooks == made(*command, "update-application-profile", tool=tool)


def test_links_and_folders_are_given_once_each() -> None:
    assert CTK.symlinks(["a::/b", "c::/d", "a::/b"]) == made(
        "nvidia-ctk", "hook", "create-symlinks", "--link", "a::/b", "--link", "c::/d"
    )
    assert CTK.ldcache(["/lib", "/lib"]) == made("nvidia-ctk", "hook", "update-ldcache", "--folder", "/lib")


def test_nothing_to_do_makes_no_hook() -> None:
    assert CTK.symlinks([]) == CTK.ldcache([]) == CTK.folder_permissions([]) == ()


def test_cuda_compat_names_what_is_known() -> None:
    assert CTK.cuda_compat(driver_version="550.1", container_root="/x") == made(
        "nvidia-ctk", "hook", "enable-cuda-compat", "--host-driver-version=550.1", "--cuda-compat-container-root=/x"
    )


@pytest.mark.parametrize(
    ("disabled", "enabled", "expected"),
    [
        pytest.param(set(), set(), {"ldcache", "profile"}, id="chmod is off by default"),
        pytest.param({"update-ldcache"}, set(), {"profile"}, id="one disabled"),
        pytest.param({"all"}, set(), set(), id="all disabled"),
        pytest.param({"all"}, {"chmod"}, {"chmod"}, id="what is enabled wins over all"),
        pytest.param({"nonsense"}, {"chmod"}, {"ldcache", "profile", "chmod"}, id="unknown names change nothing"),
    ],
)
def test_disabled_and_enabled_hooks(disabled: set[str], enabled: set[str], expected: set[str]) -> None:
    hooks = Hooks(tool="/t", disabled=frozenset(disabled), enabled=frozenset(enabled))
    kinds = {
        "ldcache": hooks.ldcache(["/lib"]),
        "profile": hooks.plain(HookName.UPDATE_APPLICATION_PROFILE),
        "chmod": hooks.folder_permissions(["/dev/dri"]),
    }
    assert {kind for kind, hook in kinds.items() if hook} == expected
