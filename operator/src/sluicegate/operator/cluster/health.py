"""What the probes answer. /healthz: would a restart help? /readyz: may requests come here?"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from sluicegate.operator.ports import Json

ANSWERED_SECONDS: Final = 60.0


@dataclass(slots=True, kw_only=True)
class Health:
    """silent: kinds that the informer hears nothing of. answered: seconds since the API server answered the elector."""

    silent: Callable[[], list[str]]
    answered: Callable[[], float]
    facts: dict[str, Callable[[], bool]] = field(default_factory=dict)
    """What has to be so before requests may come, in the words of what is missing otherwise."""
    about: Callable[[], Json] = dict

    def ailing(self) -> list[str]:
        """Blind kinds, while the API server answers: with it away a restart would only make the webhook go, too."""
        return self.silent() if self.answered() < ANSWERED_SECONDS else []

    def ready(self) -> tuple[bool, Json]:
        """Whether, and why not."""
        missing = [words for words, holds in self.facts.items() if not holds()]
        return not missing, {"ready": not missing, "missing": missing, **self.about()}
