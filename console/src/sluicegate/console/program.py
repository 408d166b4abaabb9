"""How this program was called, so that every command line that it shows can be copied."""

from contextvars import ContextVar
from dataclasses import dataclass

from sluicegate.contracts.errors import Problem, Refused

NAME = "sluicegate"
PLUGIN = "kubectl sluicegate"


@dataclass(frozen=True, slots=True)
class Called:
    """The program's name, and the options that say where the server is."""

    name: str = NAME
    options: str = ""


_PLAIN = Called()
_called: ContextVar[Called] = ContextVar("called", default=_PLAIN)


def called(name: str, options: str = "") -> None:
    """From now on hints begin with `name` and end with `options`."""
    _called.set(Called(name, options))


def name() -> str:
    """What was called."""
    return _called.get().name


def is_plugin() -> bool:
    """Whether kubectl called."""
    return _called.get().name == PLUGIN


def only_here(words: str, instead: str) -> None:
    """Refused when kubectl called: `words` works on this machine only."""
    if is_plugin():
        problem = Problem(path=words, message="works on this machine only, not on a cluster", hint=instead)
        raise Refused((problem,))


def line(words: str) -> str:
    """`words` as a command line of this program: `rollout status my-agent` → `kubectl sluicegate rollout status my-agent`."""
    here = _called.get()
    return f"{here.name} {words}{here.options}"
