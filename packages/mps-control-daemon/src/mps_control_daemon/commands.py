"""What is run to share GPUs through MPS: every command line, its environment and its input, as plain values."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_core.mps import CONTROL, DaemonPlan, MpsRoot

NVIDIA_SMI = "nvidia-smi"

EXCLUSIVE_PROCESS = "EXCLUSIVE_PROCESS"
"""The compute mode in which a GPU takes only the MPS server's context."""

DEFAULT = "DEFAULT"
"""The compute mode of a GPU that nobody changed."""

_MODES = {
    "Default": DEFAULT,
    "Exclusive_Thread": "EXCLUSIVE_THREAD",
    "Prohibited": "PROHIBITED",
    "Exclusive_Process": EXCLUSIVE_PROCESS,
}

MODES = frozenset(_MODES.values())
"""Every word that nvidia-smi sets a compute mode by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One program to run. `environment` None is our own; `input` is written to it without a newline."""

    argv: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] | None = None
    input: str | None = None


def start_daemon(plan: DaemonPlan, root: MpsRoot) -> Command:
    """Start a control daemon in the background, with its own GPUs as all that it sees."""
    return Command(argv=(CONTROL, "-d"), environment=tuple(sorted(plan.start_environment(root).items())))


def ask_daemon(resource: str, root: MpsRoot, line: str) -> Command:
    """Give the control daemon of a resource one line and read its answer."""
    return Command(argv=(CONTROL,), environment=tuple(sorted(root.environment(resource).items())), input=line)


def limit_lines(plan: DaemonPlan) -> tuple[str, ...]:
    """Return the lines that set the limits of a daemon's clients, in order, with GPUs numbered as it sees them."""
    memory = [
        f"set_default_device_pinned_mem_limit {number} {gpu.memory_limit}M"
        for number, gpu in enumerate(plan.gpus)
        if gpu.memory_limit is not None
    ]
    percentage = plan.active_thread_percentage
    threads = [] if percentage is None else [f"set_default_active_thread_percentage {percentage:g}"]
    return (*memory, *threads)


def set_compute_mode(uuid: str, mode: str) -> Command:
    """Set the compute mode of one GPU."""
    return Command(argv=(NVIDIA_SMI, "-i", uuid, "-c", mode))


def query_compute_mode(uuid: str) -> Command:
    """Ask for the compute mode of one GPU."""
    return Command(argv=(NVIDIA_SMI, "-i", uuid, "--query-gpu=compute_mode", "--format=csv,noheader"))


def compute_mode(answer: str) -> str | None:
    """Return the word for setting the mode that nvidia-smi answered with, None when it is not understood."""
    return _MODES.get(answer.strip())
