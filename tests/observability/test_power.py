"""What the README promises about units needed is what the tests need."""

from pathlib import Path

import pytest

from tests.observability import power

README = Path(__file__).parents[2] / "observability" / "README.md"


def test_the_readmes_table_is_what_the_simulation_gives() -> None:
    rows = [line.split("|")[1:-1] for line in README.read_text().splitlines() if line.startswith("| ")]
    shown = {cells[0].strip(): cells[2].strip() for cells in rows if len(cells) == 4}
    for case in power.CASES:
        sentence, _, units, _ = (cell.strip() for cell in power.row(case).split("|")[1:-1])
        median = float(units.split(" ")[0].replace(",", ""))
        promised = float(shown[sentence].split(" ")[0].replace(",", ""))
        # The last bit of exp and log may differ between machines: a look earlier or later, no more.
        assert median == pytest.approx(promised, rel=0.02, abs=2), sentence
