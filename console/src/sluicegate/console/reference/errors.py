"""The error tree, from the classes."""

from collections.abc import Iterator

from sluicegate.console.reference.markdown import one_line, page, table
from sluicegate.contracts.errors import SluicegateError
from sluicegate.contracts.runs import Failure
from sluicegate.gateway.problems import FAILURE_STATUS, OTHER_STATUS

_FAILURES = {
    Failure.TIMEOUT: "An attempt took longer than its time, or the component said 408.",
    Failure.UNAVAILABLE: "No connection, or 502, 503, 504.",
    Failure.RATE_LIMITED: "429.",
    Failure.REJECTED: "Another 4xx, a refusal of the model, or a credential that is not set.",
    Failure.FAULT: "500, another status, or an answer that breaks the protocol.",
    Failure.INVALID_INPUT: "The mapping of the workflow broke the component's input contract.",
    Failure.INVALID_OUTPUT: "The answer broke the output contract or a semantic domain.",
    Failure.EXPRESSION: "A condition or mapping could not be evaluated.",
    Failure.DEADLINE: "The run's time was over before the call.",
    Failure.CIRCUIT_OPEN: "The circuit breaker of the destination is open.",
}


def errors_page() -> str:
    """Errors of the control plane, and failures of runs."""
    rows = [
        (
            f"{'– ' * depth}`{kind.__name__}`",
            one_line(kind.__doc__),
            kind.reason,
            str(kind.exit_code),
            str(kind.http_status),
        )
        for depth, kind in _tree(SluicegateError, 0)
    ]
    failures = [
        (f"`{failure}`", _FAILURES[failure], str(FAILURE_STATUS.get(failure, OTHER_STATUS)))
        for failure in Failure
    ]
    return page(
        "Errors",
        "One tree. The command line ends with the exit code; the local API answers with the HTTP status and a Kubernetes "
        "`Status` whose `reason` is in the third column and whose `details.causes` has every problem at once.",
        table(("error", "meaning", "reason", "exit code", "HTTP"), rows),
        "## Problems",
        "Each problem says where (`path`, with `source` and `line` when it was read from a file), `message`, the `value` "
        "found, what is `allowed`, and a `hint`, often a did-you-mean. Nothing is applied when there is one.",
        "## Why a call fails",
        "`reason` of a failed run (`problem+json` of the gateway), `failure` of an attempt and `reason` of a fallback in "
        "`sluicegate run show`, and the values of `retry.retryOn`. HTTP: what the caller of a run gets when the run fails for it.",
        table(("failure", "when", "HTTP"), failures),
    )


def _tree(kind: type[SluicegateError], depth: int) -> Iterator[tuple[int, type[SluicegateError]]]:
    yield depth, kind
    for child in kind.__subclasses__():
        if child.__module__ == kind.__module__:
            yield from _tree(child, depth + 1)
