"""What reads the output of `sluicegate contract`."""

import json

from sluicegate.console.contracting.formats.document import schema


def report_schema() -> str:
    """JSON Schema of `-o json`."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"
