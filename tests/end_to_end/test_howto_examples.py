"""The Python examples of the recipes that users follow run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

HOWTO = Path(__file__).parents[2] / "docs" / "howto"
RECIPES = ["8-train-on-many-devices", "9-train-with-less-memory", "10-write-a-kernel"]
PAGES = [HOWTO / f"{name}.md" for name in RECIPES]
EXAMPLE = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples_run(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The examples of one page run in order and share their names.

    `# prints TEXT` after a `print` is compared with what it prints.
    """
    names: dict[str, object] = {"__name__": page.stem}
    examples = EXAMPLE.findall(page.read_text(encoding="utf-8"))
    assert examples, "a recipe shows what to write"
    for example in examples:
        exec(compile(example, page.name, "exec"), names)
        printed = capsys.readouterr().out.splitlines()
        expected = re.findall(r"^print\(.*\)  # prints (.+)$", example, re.MULTILINE)
        assert [line for line in printed if line in expected] == expected
