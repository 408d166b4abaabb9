"""Files of a git revision, through `git` in a subprocess; nothing is checked out, nothing is fetched."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from sluicegate.contracts.errors import Problem, Refused
from sluicegate.contracts.limits import MAX_BYTES

PREFIX = "git:"
SECONDS = 60.0
_HINT = "fetch it first: `git fetch --depth=1 origin main:refs/remotes/origin/main`, or a checkout with the whole history"


@dataclass(frozen=True, slots=True)
class Revision:
    """A commit. name: as it was asked for."""

    name: str
    commit: str


def revision(name: str) -> Revision:
    """Raises Refused when there is no git, no repository here, or no such revision in it."""
    found = _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    if found.returncode:
        if _git("rev-parse", "--git-dir").returncode:
            raise _refused(name, "this folder is in no git repository", "run it in a checkout")
        raise _refused(name, "no such revision", _HINT)
    return Revision(name, found.stdout.decode().strip())


def listed(at: Revision, path: Path, *, recursive: bool = True) -> tuple[Path, ...]:
    """`path` if it is a file there, the files in it if it is a folder; nothing if it is not there.

    Raises Refused when git cannot tell: the path is in no repository, for instance.
    """
    found = _git("ls-tree", "-r", "-z", "--name-only", at.commit, "--", str(seen(path)))
    if found.returncode:
        said = found.stderr.decode(errors="replace").strip().removeprefix("fatal: ")
        raise _refused(f"{at.name}:{path}", f"git cannot read it: {said}", "run it inside of the repository")
    files = (Path(name) for name in found.stdout.decode(errors="replace").split("\0") if name)
    return tuple(file for file in files if _is_below(file, path, recursive=recursive))


def _is_below(file: Path, path: Path, *, recursive: bool) -> bool:
    here = seen(path)
    return recursive or here in {PurePosixPath(file), PurePosixPath(file).parent}


def content(at: Revision, path: Path) -> bytes:
    """At most one byte more than the limit of a file, which is then refused by the loader. Raises Refused."""
    found = _git("show", f"{at.commit}:./{seen(path)}")
    if found.returncode:
        raise _refused(f"{at.name}:{path}", "no such file in this revision", "check the path")
    return found.stdout[: MAX_BYTES + 1]


def earlier(at: Revision, path: Path, *, recursive: bool = True) -> tuple[Path, ...]:
    """The files that git takes for the former ones of `path`, or of files in it: they were renamed since.

    Raises Refused when git cannot tell: what was renamed would else pass for new.
    """
    words = ("--relative", "--find-renames", "-l0", "--diff-filter=R", "--name-status", "-z")
    found = _git("diff", *words, at.commit)
    if found.returncode:
        said = found.stderr.decode(errors="replace").strip().removeprefix("fatal: ")
        raise _refused(
            f"{at.name}:{path}", f"git cannot tell what was renamed: {said}", "repair the checkout"
        )
    fields = found.stdout.decode(errors="replace").split("\0")
    return tuple(
        Path(before)
        for before, after in zip(fields[1::3], fields[2::3], strict=False)
        if PurePosixPath(after).is_relative_to(seen(path))
        and _is_below(Path(after), path, recursive=recursive)
    )


def seen(path: Path) -> PurePosixPath:
    """`path` as git takes and tells it: from the present folder, whatever the folder of the repository is."""
    return PurePosixPath(Path(os.path.relpath(path)).as_posix())


def _git(*words: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(  # noqa: S603 - words of ours; what users give is behind --end-of-options or a commit
            ["git", *words],  # noqa: S607 - the git of who calls
            capture_output=True,
            check=False,
            timeout=SECONDS,
        )
    except FileNotFoundError as error:
        raise _refused("git", "git is not installed", "install git, or compare two files") from error
    except subprocess.TimeoutExpired as error:
        raise _refused("git", f"git did not answer within {SECONDS:g} s", "try again") from error


def _refused(value: str, message: str, hint: str) -> Refused:
    return Refused((Problem(path="git", message=message, value=value, hint=hint),))
