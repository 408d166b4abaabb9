import os
import socket

import pytest

from sluicegate.contracts.errors import Forbidden
from sluicegate.operator.api.callers import Peer, acting, peer_of, user_name

ALICE = Peer(user="alice", uid=1001, pid=1)
ROOT = Peer(user="root", uid=0, pid=1)


def test_the_kernel_says_who_the_peer_is() -> None:
    left, right = socket.socketpair(socket.AF_UNIX)
    with left, right:
        assert peer_of(left) == Peer(user=user_name(os.geteuid()), uid=os.geteuid(), pid=os.getpid())


def test_a_user_without_a_name_is_its_number() -> None:
    assert user_name(2_000_000_123) == "uid:2000000123"


@pytest.mark.parametrize(
    ("peer", "server", "name"),
    [(ROOT, 1001, "bob (by root)"), (ALICE, 1001, "bob (by alice)")],
    ids=["root may", "the user who runs the server may"],
)
def test_acting_in_another_name_shows_both(peer: Peer, server: int, name: str) -> None:
    assert acting(peer, "bob", server_uid=server).name == name


@pytest.mark.parametrize("wanted", [None, "", "alice"])
def test_nobody_needs_rights_to_be_themselves(wanted: str | None) -> None:
    assert acting(ALICE, wanted, server_uid=0).name == "alice"


@pytest.mark.parametrize(
    ("peer", "wanted"),
    [(ALICE, "bob"), (ALICE, "root"), (ROOT, "bob (by alice)"), (ROOT, "a\nb"), (ROOT, "x" * 65)],
    ids=["another user", "another user as root", "a forged record", "a line break", "too long"],
)
def test_others_may_not_and_names_cannot_be_forged(peer: Peer, wanted: str) -> None:
    with pytest.raises(Forbidden):
        acting(peer, wanted, server_uid=0)
