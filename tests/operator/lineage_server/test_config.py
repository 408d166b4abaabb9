"""Settings of the lineage process."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("given", ["--tls-cert", "--tls-key"])
def test_half_a_certificate_is_refused_and_never_served_in_plain_http(given: str, tmp_path: Path) -> None:
    words = ("lineage", "--state", str(tmp_path / "state"), given, str(tmp_path / "a.pem"))
    command = [sys.executable, "-m", "sluicegate.operator", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2, done.stderr
    for flag in ("--tls-cert", "--tls-key"):
        assert flag in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "state").exists()
