"""Who asks: the credentials of the Unix socket's peer, as the kernel knows them."""

import os
import pwd
import re
import socket
import struct
from dataclasses import dataclass
from typing import Protocol

from sluicegate.contracts.errors import Forbidden, Problem

_PEERCRED = struct.Struct("3i")  # pid, uid, gid: struct ucred of SO_PEERCRED
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._@+-]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """The process at the other end. user: its name, or ``uid:1234`` when the host knows none."""

    user: str
    uid: int
    pid: int
    acting_as: str | None = None

    @property
    def name(self) -> str:
        """What is recorded: ``alice``, or ``alice (by root)`` when root acts in her name."""
        return f"{self.acting_as} (by {self.user})" if self.acting_as else self.user


class PeerSocket(Protocol):
    """A socket, or what an event loop shows of it."""

    def getsockopt(self, level: int, option: int, size: int, /) -> bytes:
        """See socket(7)."""
        ...


def peer_of(connection: PeerSocket) -> Peer:
    """The peer of a connected Unix socket."""
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEERCRED.size)
    pid, uid, _ = _PEERCRED.unpack(raw)
    return Peer(user=user_name(uid), uid=uid, pid=pid)


def user_name(uid: int) -> str:
    """The name of a uid."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid:{uid}"


def acting(peer: Peer, wanted: str | None, *, server_uid: int | None = None) -> Peer:
    """`peer` in the name of `wanted`: only root and the user who runs the server may. For trials of four eyes."""
    if not wanted or wanted == peer.user:
        return peer
    allowed = {0, os.geteuid() if server_uid is None else server_uid}
    if peer.uid not in allowed:
        raise Forbidden((_as_problem(f"{peer.user} may not act in another name", wanted),))
    if not _NAME.fullmatch(wanted):
        raise Forbidden((_as_problem("not a user name", wanted),))
    return Peer(user=peer.user, uid=peer.uid, pid=peer.pid, acting_as=wanted)


def _as_problem(message: str, wanted: str) -> Problem:
    return Problem(
        path="--as",
        message=message,
        value=wanted[:80],
        allowed="a user name, from root or from the user who runs sluicegate up",
    )
