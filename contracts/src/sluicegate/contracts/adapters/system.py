"""Clock, ids and randomness of the host; everything else takes them as parameters."""

import os
import random
import time
import uuid
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """What shells need of time."""

    def now(self) -> datetime:
        """Aware UTC."""
        ...


class SystemClock:
    """The host's clock."""

    def now(self) -> datetime:
        """Aware UTC."""
        return datetime.now(UTC)


def now() -> datetime:
    """Aware UTC."""
    return datetime.now(UTC)


def unix_ms() -> float:
    """Milliseconds since the epoch."""
    return time.time() * 1000.0


def uuid7() -> str:
    """A UUID version 7 (RFC 9562 §5.7): 48 bits of Unix milliseconds, then 74 random bits."""
    stamp = int(time.time() * 1000).to_bytes(6, "big")
    tail = bytearray(os.urandom(10))
    tail[0] = 0x70 | (tail[0] & 0x0F)
    tail[2] = 0x80 | (tail[2] & 0x3F)
    text = (stamp + tail).hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def new_uid() -> str:
    """A random id for a resource."""
    return str(uuid.uuid4())


def secret(size: int) -> bytes:
    """`size` random bytes fit for salts and keys."""
    return os.urandom(size)


def jitter(limit: float) -> float:
    """Uniform in [0, limit): full jitter for back-off."""
    return random.random() * limit  # noqa: S311 - not for secrets


def seeded(*seed: object) -> random.Random:
    """A generator whose draws depend on `seed` only; for simulated traffic and resampling, never for secrets."""
    return random.Random("\x1f".join(map(str, seed)))  # noqa: S311 - not for secrets
