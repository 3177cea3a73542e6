"""Shows a program under its own name in /proc, where the interpreter stands as the first word of a Python program.

Who looks for a program by that word, as the original's config manager does, finds it then. The kernel shows the words
from the memory in which it has put them when the program began; nothing else uses that memory later.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path, PurePosixPath

# Fields 48 and 49 of /proc/<pid>/stat, counted from what follows the program's name.
_BEGIN, _END = 45, 46


def show_own_name(names: Collection[str], argv: Sequence[str], *, proc: Path = Path("/proc/self")) -> str | None:
    """Make the program's command line begin with the one of `names` that it was started by, and return that name.

    `argv` is what Python gives as such. None, and nothing is changed, where the program was started in another way, or
    where the kernel does not let us.
    """
    try:
        words = (proc / "cmdline").read_bytes()
        fields = (proc / "stat").read_bytes().rpartition(b")")[2].split()
        begin, end = int(fields[_BEGIN]), int(fields[_END])
        memory = os.open(proc / "mem", os.O_RDWR | os.O_CLOEXEC)
    except (OSError, ValueError, IndexError):
        return None
    try:
        given = b"".join(os.fsencode(word) + b"\0" for word in argv)
        name = PurePosixPath(argv[0]).name
        if name not in names or not words.endswith(given) or os.pread(memory, end - begin, begin) != words:
            return None
        shorter = os.fsencode(name) + given[len(os.fsencode(argv[0])) :]
        os.pwrite(memory, shorter.ljust(len(words), b"\0"), begin)
    except OSError:
        return None
    finally:
        os.close(memory)
    return name
