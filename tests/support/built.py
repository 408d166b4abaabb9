"""Programs that tests need and nobody packages: built once into a folder of the project's cache, outside of any checkout."""

import fcntl
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

STAMP = "complete.json"

Build = Callable[[Path], None]


def cache_root(environ: Mapping[str, str] = os.environ) -> Path:
    """The project's cache."""
    base = environ.get("XDG_CACHE_HOME") or Path(environ.get("HOME") or Path.home()) / ".cache"
    return Path(environ.get("SLUICEGATE_CACHE") or Path(base) / "sluicegate")


@dataclass(frozen=True, slots=True)
class Built:
    """What a build brings. takes: for people who wait; lacking: raised when it brought too little."""

    what: str
    files: tuple[str, ...]
    takes: str
    lacking: type[Exception]

    def cached(self, folder: Path, build: Build) -> Path:
        """`folder`, complete. Of several processes one builds and the others wait for it; a build that fails leaves nothing."""
        if self.is_complete(folder):
            return folder
        with self._locked(folder.with_name(f"{folder.name}.lock")):
            if self.is_complete(folder):
                return folder
            self._tell(f"building into {folder} (first time only, {self.takes})")
            for left in folder.parent.glob(f"{folder.name}.*.part"):  # of a build that was killed
                shutil.rmtree(left, ignore_errors=True)
            fresh = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", suffix=".part", dir=folder.parent))
            try:
                build(fresh)
                self._stamp(fresh)
                shutil.rmtree(folder, ignore_errors=True)
                fresh.rename(folder)
            finally:
                shutil.rmtree(fresh, ignore_errors=True)
        return folder

    def is_complete(self, folder: Path) -> bool:
        """Whether everything that was stamped is there, as large as it was."""
        try:
            sizes = json.loads((folder / STAMP).read_text())
            return all((folder / name).stat().st_size == sizes.get(name) for name in self.files)
        except (OSError, ValueError):
            return False

    def _stamp(self, folder: Path) -> None:
        missing = [name for name in self.files if not (folder / name).is_file()]
        if missing:
            raise self.lacking(f"the build brought no {', '.join(missing)}")
        sizes = {name: (folder / name).stat().st_size for name in self.files}
        (folder / STAMP).write_text(json.dumps(sizes, indent=2))
        folder.chmod(0o755)

    @contextmanager
    def _locked(self, path: Path) -> Iterator[Any]:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self._tell("another process builds it; waiting")
                fcntl.flock(file, fcntl.LOCK_EX)
            yield file

    def _tell(self, text: str) -> None:
        print(f"{self.what}: {text}", file=sys.stderr, flush=True)
