"""Lists the devices and says why one is missing: `python -m tg_runtime`."""

from __future__ import annotations

from tg_codegen.render.registry import renderer_names
from tg_uop.errors import TgError
from tg_uop.target import Target

from tg_runtime.device import Device
from tg_runtime.errors import RuntimeFailure
from tg_runtime.registry import DEVICES, DeviceEntry


def describe(name: str, entry: DeviceEntry) -> tuple[str, str, str]:
    """One line of the table: name, state, remark."""
    if entry.paths:
        return name, "ready", entry.summary
    reason = Device.why_missing(name)
    if reason:
        return name, "missing", reason
    return name, "ready", entry.summary


def tool_chains(name: str) -> list[tuple[str, str, str]]:
    """The lines of a device's renderers."""
    lines = []
    for renderer in DEVICES[name].renderers:
        if renderer not in renderer_names(name):
            continue
        try:
            found = Device[name].make_tool_chain(Target(name, renderer))
            remark = found.compiler.key if found.compiler is not None else "needs no compiler"
            lines.append((f"  {name}:{renderer}", "ready", _short(remark)))
        except (RuntimeFailure, TgError, ImportError) as error:
            lines.append((f"  {name}:{renderer}", "missing", str(error)))
    return lines


def _short(text: str, width: int = 90) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


def main() -> None:
    """Print the table."""
    rows = []
    for name, entry in DEVICES.items():
        row = describe(name, entry)
        rows.append(row)
        if row[1] == "ready" and entry.renderers:
            rows.extend(tool_chains(name))
    width = max(len(row[0]) for row in rows)
    for name, state, remark in rows:
        print(f"{name:<{width}}  {state:<7}  {remark}")
    print(f"default: {Device.DEFAULT}")


if __name__ == "__main__":
    main()
