"""Write the reference pages that come from code; `--check` fails when one is stale."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from mistakes import errors_markdown
from tg_onnx.table import coverage_markdown
from tg_uop.context import settings_markdown
from tg_uop.dtype.promote import dtypes_markdown
from tg_uop.spec.verify import spec_markdown

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent / "tests" / "conformance"))
tensor_markdown = import_module("tensor_table.page").tensor_markdown

# packages declare their settings when they are loaded; a device's only when it is opened
for module in ("tg_tensor", "tg_runtime.devices.cpu.device"):
    import_module(module)

PAGES = {
    "reference/settings.md": settings_markdown,
    "reference/dtypes.md": dtypes_markdown,
    "reference/forms.md": spec_markdown,
    "reference/tensor.md": tensor_markdown,
    "reference/onnx.md": coverage_markdown,
    "errors.md": errors_markdown,
}


def main(arguments: list[str]) -> int:
    """Write or check every page; 1 if one is stale."""
    check = "--check" in arguments
    stale = 0
    for name, write in PAGES.items():
        path, text = DOCS / name, write()
        if path.exists() and path.read_text() == text:
            continue
        if check:
            print(f"docs/{name} is stale: run python docs/generate.py")
            stale = 1
        else:
            path.write_text(text)
    return stale


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
