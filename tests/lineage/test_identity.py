"""Digests say which runs have the same causes, and do not give the input away."""

import hashlib
import hmac
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.lineage import identity

labels = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,10}[a-z0-9])?", fullmatch=True)


@given(st.text(), st.dictionaries(labels, st.text()), st.text())
def test_the_lineage_digest_is_of_canonical_json(
    version: str, components: dict[str, str], hashed: str
) -> None:
    causes: Any = {"version": version, "revision": "sha256:1", "components": components, "inputHash": hashed}
    expected = hashlib.sha256(
        rfc8785.dumps(causes)
    ).hexdigest()  # another implementation of the canonical form
    found = identity.lineage_digest(
        version=version, revision_digest="sha256:1", components=components, input_hash=hashed
    )
    assert found == f"sha256:{expected}"


def test_input_hash_is_salted_and_does_not_depend_on_the_order_of_keys() -> None:
    salt = b"s" * 32
    expected = hmac.new(
        salt, json.dumps({"a": 1, "b": [2]}, separators=(",", ":")).encode(), "sha256"
    ).hexdigest()
    assert identity.input_hash(salt, {"b": [2], "a": 1}) == f"hmac-sha256:{expected}"
    assert identity.input_hash(b"t" * 32, {"a": 1, "b": [2]}) != f"hmac-sha256:{expected}"


def test_workers_that_start_together_share_one_salt(tmp_path: Path) -> None:
    state = tmp_path / "new" / "state"
    with ThreadPoolExecutor(8) as pool:
        salts = set(pool.map(lambda _: identity.load_salt(state), range(32)))
    assert len(salts) == 1
    assert len(salts.pop()) == 32
    assert [path.name for path in state.iterdir()] == [identity.SALT_FILE]
    assert (state / identity.SALT_FILE).stat().st_mode & 0o777 == 0o600


def test_two_stores_have_two_salts(tmp_path: Path) -> None:
    assert identity.load_salt(tmp_path / "a") != identity.load_salt(tmp_path / "b")
