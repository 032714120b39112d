"""The README's example prints what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"


def test_example(capsys: pytest.CaptureFixture[str]) -> None:
    [code] = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    exec(code, {})
    promised = re.findall(r"^print\(.*\) +# (.*)$", code, re.MULTILINE)
    assert capsys.readouterr().out.splitlines() == promised
