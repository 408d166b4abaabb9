"""Bounds of what is read from outside."""

MAX_BYTES = 1024 * 1024
MAX_DEPTH = 64
MAX_NODES = 100_000
"""Values of one file, each alias counted with all that it stands for."""
MAX_INTEGER = 2**53 - 1
"""Beyond it a number is not the same in every JSON implementation (RFC 8785 section 3.2.2.3)."""
MAX_PROBLEMS = 100
"""Of one file; nobody reads more."""
MAX_PLAN = 900 << 10
"""Bytes of a routing plan as stored; the API server takes about 1 MiB of an object."""
