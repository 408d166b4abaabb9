"""Digests that tie runs to their causes without giving the input away."""

import hashlib
import hmac
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import orjson

from sluicegate.contracts.adapters.system import secret, uuid7

SALT_FILE: Final = "lineage.salt"


def load_salt(state: Path) -> bytes:
    """The store's salt, 32 bytes; made once. Safe when several workers start at the same time."""
    path = state / SALT_FILE
    try:
        return path.read_bytes()
    except FileNotFoundError:
        pass
    state.mkdir(parents=True, exist_ok=True)
    draft = state / f".{SALT_FILE}-{uuid7()}"
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(secret(32))
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(draft, path)  # the first one wins, whole
    except FileExistsError:
        pass
    finally:
        draft.unlink()
    return path.read_bytes()


def input_hash(salt: bytes, value: Any) -> str:
    """HMAC-SHA256 of the sorted JSON of `value`: equal inputs of one store are equal, and without the salt
    a guess cannot be checked. Comparable inside one store only.
    """
    text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    return "hmac-sha256:" + hmac.digest(salt, text, "sha256").hex()


def lineage_digest(
    *, version: str, revision_digest: str, components: Mapping[str, str], input_hash: str
) -> str:
    """SHA-256 over RFC 8785 JSON of all causes of a run: runs with the same digest have the same causes.

    Every value is a string and every key a DNS label, so sorted compact JSON is the canonical form.
    """
    causes = {
        "components": dict(components),
        "inputHash": input_hash,
        "revision": revision_digest,
        "version": version,
    }
    return "sha256:" + hashlib.sha256(orjson.dumps(causes, option=orjson.OPT_SORT_KEYS)).hexdigest()
