"""Every Python example of the READMEs and of pages that are written by hand runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "docs" / "reference" / "interop.md",
    *sorted((ROOT / "packages").glob("*/README.md")),
]
EXAMPLE = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def name_of(page: Path) -> str:
    """The file's path from the root of the repository."""
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_examples_run(
    page: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The examples of one page run in order and share their names; files are written elsewhere.

    `# prints TEXT` after a `print` is compared with what it prints.
    """
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": page.stem}
    examples = EXAMPLE.findall(page.read_text(encoding="utf-8"))
    assert examples, "a README shows how its package is used"
    for example in examples:
        exec(compile(example, name_of(page), "exec"), names)
        printed = capsys.readouterr().out
        for expected in re.findall(r"^print\(.*\)  # prints (.+)$", example, re.MULTILINE):
            assert expected in printed.splitlines()
