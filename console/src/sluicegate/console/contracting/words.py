"""The words of the options of `sluicegate contract`. Imports nothing, so that help and completion are fast."""

from enum import StrEnum


class ReportFormat(StrEnum):
    """The value of -o, and of --report before the =."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    SARIF = "sarif"
    JUNIT = "junit"
    GITHUB = "github"
    GITLAB = "gitlab"
    MARKDOWN = "markdown"


class FailOn(StrEnum):
    """The value of --fail-on: the least severity that fails the build."""

    ERROR = "error"
    WARNING = "warning"
    NEVER = "never"


class Mode(StrEnum):
    """The value of --mode: whether what is not proven is an error, or only told."""

    ENFORCE = "enforce"
    REPORT = "report"


class LevelWord(StrEnum):
    """The value of --level: what counts as a change."""

    WIRE = "wire"
    SCHEMA = "schema"
    SEMANTIC = "semantic"
