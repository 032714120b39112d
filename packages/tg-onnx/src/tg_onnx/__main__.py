"""Run the command line: python -m tg_onnx."""

from __future__ import annotations

import sys

from tg_onnx.cli import main

if __name__ == "__main__":
    sys.exit(main())
