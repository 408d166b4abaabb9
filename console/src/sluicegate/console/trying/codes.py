"""What a test of a running component can find."""

from collections.abc import Mapping
from typing import Final

from sluicegate.contracts.diagnostics import Code
from sluicegate.contracts.second_opinion import CODE as DISAGREE

OUTPUT, FAILED, OUTSIDE = "OutputBreaksContract", "ComponentFailed", "RecordedInputOutside"
MISALIGNED, NOTHING = "SemanticsMisaligned", "NothingToSend"

CODES: Final[Mapping[str, Code]] = {
    OUTPUT: Code(
        title="an answer breaks the component's own output contract",
        meaning="A valid input was sent to the running component, and what came back is not what the contract says. The witness is the input.",
        remedy="Repair the component, or let the contract say what it really gives; then see `contract diff` for who depends on it.",
    ),
    FAILED: Code(
        title="the component gave no answer",
        meaning="It was not reached, was too slow, or answered with an error to an input that the contract allows.",
        remedy="Look at its log for the input that is shown; raise `timeoutMs` if it only needs longer.",
    ),
    OUTSIDE: Code(
        title="a recorded input is not in the contract",
        meaning="Somebody has sent this to the component, and the input contract refuses it: the contract is narrower than its callers.",
        remedy="Widen the input contract, or make the caller send what it says.",
    ),
    MISALIGNED: Code(
        title="a phrase is not understood as it should be",
        meaning="A semantic domain lists the phrase as a spelling of a value, it was sent to the running component, and the component understood something else.",
        remedy="Teach the component the phrase, or take it out of the aliases.",
    ),
    NOTHING: Code(
        title="no input to send",
        meaning="No valid input could be made of the contract's examples, defaults and enumerations, and none was recorded: nothing was tested, which is no clean result.",
        remedy="Add `examples` to the input contract, or give recorded runs with `--recorded`.",
    ),
    DISAGREE: Code(
        title="two validators disagree",
        meaning="Of an answer, or of a value in the file that stands for one, one JSON Schema validator says that it keeps the contract, and another that it does not, or has no answer (a warning). "
        "The stricter one counts here; other consumers may see it as either does.",
        remedy="Say it in keywords that both read alike.",
    ),
}
"""Code -> what it means, for docs/reference."""
