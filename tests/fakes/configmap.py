"""A ConfigMap as the kubelet mounts it: links to `..data/NAME`, and `..data` a link that is swapped on each change."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path


class ConfigMapVolume:
    """The mounted volume at `path`."""

    def __init__(self, path: Path, files: Mapping[str, str]) -> None:
        self.path = path
        self._version = 0
        path.mkdir(parents=True)
        self.update(files)

    def update(self, files: Mapping[str, str]) -> None:
        """Change what the volume holds, in the order of the kubelet's own steps."""
        self._version += 1
        fresh = self.path / f"..2026_01_01_00_00_{self._version:02}"
        fresh.mkdir()
        for name, text in files.items():
            (fresh / name).write_text(text)
        data = self.path / "..data"
        old = data.readlink() if data.is_symlink() else None
        (self.path / "..data_tmp").symlink_to(fresh.name)
        (self.path / "..data_tmp").replace(data)
        for name in files:
            if not (self.path / name).is_symlink():
                (self.path / name).symlink_to(f"..data/{name}")
        for entry in self.path.iterdir():
            if not entry.name.startswith("..") and entry.name not in files:
                entry.unlink()
        if old is not None:
            shutil.rmtree(self.path / old)
