"""Every exception that the GPU programs raise on purpose.

    SuiteError                  1   base: a message for a person, and an exit code
    ├── UsageError              1   a flag or a variable is wrong
    ├── ConfigError             1   the config file is wrong; carries every problem found
    ├── HardwareError           1   the node's GPUs cannot be read
    │   ├── DriverMissingError  1   no driver library, no driver, no device files
    │   └── NvmlCallError       1   an NVML call failed; carries the call and NVML's code
    ├── ResourceError           1   the devices cannot be served as the config asks
    ├── AllocationError         1   a kubelet's request cannot be granted; becomes a gRPC status
    ├── CdiError                1   a CDI specification cannot be made or written
    ├── MpsError                1   the MPS control daemon cannot be started or asked
    ├── KubeletError            1   the kubelet cannot be reached or refused us
    ├── PublishError            1   labels cannot be written to their destination
    ├── ClusterError            1   the API server refused or cannot be reached
    ├── ProcessError            1   another program is missing, may not be run, or hangs
    └── OutputError             1   an answer cannot be written to standard output

    Ending                      0   no failure: the program was told to end while it waited

A message states the fact first and the next step second, in full sentences, and needs no traceback. These
are caught in three places only: a program's `cli.py`, the supervise loop and the gRPC servicer.
"""

from __future__ import annotations

from collections.abc import Sequence


class SuiteError(Exception):
    """A failure with a message for a person; `exit_code` is what a program ends with when nothing catches it."""

    exit_code: int = 1


class Ending(Exception):  # noqa: N818  It tells of no error.
    """The program was told to end while it waited; what it waited for does not matter any more.

    It passes through everything, so that nobody takes a driver that was not waited for to be one that fails.
    """


class UsageError(SuiteError):
    """A flag or an environment variable holds something that cannot be used."""


class ConfigError(SuiteError):
    """The config file cannot be used. `problems` holds one finished line per problem, in file order."""

    def __init__(self, message: str, problems: Sequence[str] = ()) -> None:
        super().__init__("\n".join([message, *(f"  {problem}" for problem in problems)]))
        self.problems = tuple(problems)


class HardwareError(SuiteError):
    """The GPUs of this node cannot be read."""


class DriverMissingError(HardwareError):
    """No NVIDIA driver was found; the message lists what was looked for and where.

    `fact` is the message without what to do about it.
    """

    def __init__(self, message: str, *, fact: str = "") -> None:
        super().__init__(message)
        self.fact = fact or message


class NvmlCallError(HardwareError):
    """An NVML call failed.

    `call` is the C function's name without version suffix, `code` the name of the return value without its
    `NVML_ERROR_` prefix, as in `GPU_IS_LOST`.
    """

    def __init__(self, message: str, *, call: str, code: str) -> None:
        super().__init__(message)
        self.call = call
        self.code = code


class ResourceError(SuiteError):
    """The devices that are present cannot be served the way the config asks."""


class AllocationError(SuiteError):
    """A request of the kubelet names devices that cannot be granted together."""


class CdiError(SuiteError):
    """A CDI specification cannot be made or written."""


class MpsError(SuiteError):
    """The MPS control daemon cannot be started, asked or stopped."""


class KubeletError(SuiteError):
    """The kubelet cannot be reached, or it refused the registration."""


class PublishError(SuiteError):
    """Labels cannot be written to where they should go."""


class ClusterError(SuiteError):
    """The API server cannot be reached, or it refused a request."""


class ProcessError(SuiteError):
    """Another program is missing, may not be run, or did not end in time."""


class OutputError(SuiteError):
    """What somebody asked for cannot be written to standard output."""
