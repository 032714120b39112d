"""Check that an environment holds a package, what it declares, the test tools, and nothing else."""

from __future__ import annotations

import re
import sys
from importlib.metadata import distributions, requires

TEST_TOOLS = ("pytest", "hypothesis", "pip", "setuptools", "wheel")


def closure(names: list[str]) -> set[str]:
    """The named distributions with everything that they require, without extras."""
    found: set[str] = set()
    pending = list(names)
    while pending:
        name = pending.pop().lower().replace("_", "-")
        if name in found:
            continue
        found.add(name)
        try:
            wanted = requires(name) or []
        except ModuleNotFoundError:
            continue
        pending += [re.split(r"[ ;<>=!~\[(]", w)[0] for w in wanted if "extra ==" not in w]
    return found


def main(package: str) -> int:
    """Print what is installed without reason; 1 if there is any."""
    extra = [r for r in requires(package) or [] if "extra ==" in r]
    tools = [re.split(r"[ ;<>=!~\[(]", r)[0] for r in extra]
    allowed = closure([package, *TEST_TOOLS, *tools])
    present = {d.metadata["Name"].lower().replace("_", "-") for d in distributions()}
    undeclared = sorted(present - allowed)
    for name in undeclared:
        sys.stderr.write(f"{package} brings {name}, which it does not declare\n")
    return 1 if undeclared else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
