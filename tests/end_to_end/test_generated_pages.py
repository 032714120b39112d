"""The pages that come from code, error messages among them, say what the code says now."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_no_page_is_stale() -> None:
    run = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "generate.py"), "--check"],
        capture_output=True,
        text=True,
        env={k: v for k, v in os.environ.items() if k not in ("DEV", "DEBUG", "DEFAULT_FLOAT")},
    )
    assert run.returncode == 0, run.stdout + run.stderr
