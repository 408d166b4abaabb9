"""What a command line did."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Said:
    """Its exit code, standard output and standard error."""

    code: int
    out: str
    err: str
