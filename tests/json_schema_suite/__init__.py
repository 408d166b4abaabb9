"""The official JSON Schema test suite: in the project's cache, taken from the source distribution of the package `jsonschema`.

~/.cache/sluicegate/json-schema-suite/<version>/{tests,remotes}/…
"""

import hashlib
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.built import Built, cache_root

VERSION = "4.26.0"
SHA256 = "0c26707e2efad8aa1bfc5b7ce170f3fccc2e4918ff85989ba9ffa9facb2be326"
REMOTES = "http://localhost:1234/"
_STAMP = "tests/draft2020-12/ref.json"


class NoSuite(Exception):  # noqa: N818 - it names what is missing
    """It is not in the cache and could not be had."""


BUILT = Built("json-schema-suite", (_STAMP,), "half a minute", NoSuite)


@dataclass(frozen=True, slots=True)
class Case:
    """One schema with its tests: (description, value, whether it is valid)."""

    name: str
    schema: Any
    tests: tuple[tuple[str, Any, bool], ...]


def folder(environ: Mapping[str, str] = os.environ) -> Path:
    """The suite; fetched with pip when it is not there yet, and loud when that fails."""
    return BUILT.cached(cache_root(environ) / "json-schema-suite" / VERSION, _build)


@cache
def cases(dialect: str = "draft2020-12", *, optional: bool = False) -> tuple[Case, ...]:
    """The required ones, or those below `optional`."""
    base = folder() / "tests" / dialect
    files = sorted(base.glob("optional/**/*.json") if optional else base.glob("*.json"))
    return tuple(
        _case(path.relative_to(base), group) for path in files for group in json.loads(path.read_text())
    )


@cache
def remotes() -> dict[str, Any]:
    """Address -> schema, as the suite wants them to be served."""
    base = folder() / "remotes"
    return {
        REMOTES + path.relative_to(base).as_posix(): json.loads(path.read_text())
        for path in sorted(base.rglob("*.json"))
    }


def schemas(dialect: str = "draft2020-12") -> Iterator[Any]:
    """Those of the required cases."""
    return (case.schema for case in cases(dialect))


def _case(path: Path, group: Mapping[str, Any]) -> Case:
    tests = tuple((test["description"], test["data"], test["valid"]) for test in group["tests"])
    return Case(f"{path.with_suffix('').as_posix()}: {group['description']}", group["schema"], tests)


def _build(into: Path) -> None:
    command = [
        sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", "jsonschema",
        "--dest", str(into), f"jsonschema=={VERSION}",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = list(into.glob("jsonschema-*.tar.gz"))
    if done.returncode or not found:
        raise NoSuite(f"pip could not download the source of jsonschema {VERSION}: {done.stderr[-600:]}")
    if hashlib.sha256(found[0].read_bytes()).hexdigest() != SHA256:
        raise NoSuite(f"{found[0].name} is not the file that is pinned here")
    with tarfile.open(found[0]) as archive:
        for member in archive.getmembers():
            inside = member.name.partition("/json/")[2]
            if member.isfile() and inside.startswith(("tests/", "remotes/")):
                target = into / inside
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(archive.extractfile(member).read())  # type: ignore[union-attr]
    found[0].unlink()
