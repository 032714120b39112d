"""What to compile for and run on: the DEV grammar and device strings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tg_uop.errors import TargetError

# devices whose name is followed by a path instead of an index
PATH_DEVICES = frozenset({"DISK"})


class KnownNames:
    """The names that exist; the packages that implement devices and renderers register theirs.

    As long as nothing of a kind is registered, every name of that kind is accepted.
    """

    __slots__ = ("devices", "interfaces", "renderers")

    def __init__(self) -> None:
        self.devices: dict[str, None] = {}
        self.interfaces: dict[str, None] = {}
        self.renderers: dict[str, dict[str, None]] = {}

    def register(
        self,
        *,
        devices: Iterable[str] = (),
        interfaces: Iterable[str] = (),
        renderers: Mapping[str, Iterable[str]] | None = None,
    ) -> None:
        """Add names; renderers are those of a device."""
        self.devices.update(dict.fromkeys(devices))
        self.interfaces.update(dict.fromkeys(interfaces))
        for device, names in (renderers or {}).items():
            self.renderers.setdefault(device, {}).update(dict.fromkeys(names))


KNOWN = KnownNames()


def register_names(
    *,
    devices: Iterable[str] = (),
    interfaces: Iterable[str] = (),
    renderers: Mapping[str, Iterable[str]] | None = None,
) -> None:
    """Make device, interface and renderer names known to the DEV grammar."""
    KNOWN.register(devices=devices, interfaces=interfaces, renderers=renderers)


@dataclass(frozen=True, slots=True)
class Target:
    """`[INTERFACE+]DEVICE[:RENDERER[:ARCH]]`; an empty part leaves the choice to the device.

    `arch` is a comma-separated list: the architecture or processor, then features (`-` removes).
    """

    device: str
    renderer: str = ""
    arch: str = ""
    interface: str = ""

    @classmethod
    def parse(cls, text: str) -> Target:
        """The target that `text` names.

        Raises `TargetError`, listing the names there are, when a part is unknown or malformed.
        """
        interface, plus, rest = text.partition("+")
        if not plus:
            interface, rest = "", text
        device, _, rest = rest.partition(":")
        renderer, _, arch = rest.partition(":")
        target = cls(device.upper(), renderer.upper(), arch, interface.upper())
        target._require_known(text, has_interface=bool(plus))
        return target

    def _require_known(self, text: str, *, has_interface: bool) -> None:
        if has_interface and not self.interface:
            raise TargetError(
                text=text, reason="there is no interface before '+'", known=list(KNOWN.interfaces)
            )
        if not self.device:
            raise TargetError(text=text, reason="it names no device", known=list(KNOWN.devices))
        _require("device", self.device, KNOWN.devices, text)
        if self.interface:
            _require("interface", self.interface, KNOWN.interfaces, text)
        if self.renderer.isdecimal():
            raise TargetError(
                text=text,
                reason="a target has a renderer where a device string has its index; "
                f"write {self.device} here and {self.device}:{self.renderer} in code",
            )
        if self.renderer:
            known = KNOWN.renderers.get(self.device, {})
            _require(f"renderer of {self.device}", self.renderer, known, text)
        if any(not part.strip() for part in self.arch.split(",")) and self.arch:
            raise TargetError(text=text, reason="the architecture has an empty entry")

    @property
    def arch_name(self) -> str:
        """The first entry of `arch`: the architecture or processor, empty when it is a feature."""
        first = self.arch.split(",")[0]
        return "" if first[:1] in ("+", "-") else first

    @property
    def features(self) -> tuple[str, ...]:
        """The entries of `arch` after the first, which is a feature too when it has a sign."""
        entries = tuple(entry for entry in self.arch.split(",") if entry)
        return entries[1:] if self.arch_name else entries

    def __str__(self) -> str:
        prefix = f"{self.interface}+" if self.interface else ""
        parts = [self.device, self.renderer, self.arch]
        while not parts[-1]:
            parts.pop()
        return prefix + ":".join(parts)


def _require(kind: str, name: str, known: Mapping[str, None], text: str) -> None:
    if known and name not in known:
        raise TargetError(text=text, reason=f"there is no {kind} {name}", known=list(known))


def split_device(name: str) -> tuple[str, int]:
    """The device's name and index of `NAME[:INDEX]`.

    Raises `TargetError` when the name is empty or unknown, or the index is no number.
    """
    if not isinstance(name, str):
        reason = f"a device is named by a text, not by {name!r}"
        if hasattr(name, "itemsize"):
            reason += "; cast() changes the dtype"
        raise TargetError(text=repr(name), reason=reason, known=list(KNOWN.devices))
    base, colon, index = name.partition(":")
    base = base.upper()
    if not base:
        raise TargetError(text=name, reason="it names no device", known=list(KNOWN.devices))
    _require("device", base, KNOWN.devices, name)
    if base in PATH_DEVICES or not colon:
        return base, 0
    if not (index.isascii() and index.isdecimal()):
        raise TargetError(
            text=name, reason=f"{index!r} is no device index; a device string is NAME[:INDEX]"
        )
    return base, int(index)


def canonical_device(name: str) -> str:
    """One spelling for each device: upper case, without index 0; a path stays as it is.

    Raises `TargetError` as `split_device` does.
    """
    base, index = split_device(name)
    if base in PATH_DEVICES:
        return base + name[len(base) :]
    return f"{base}:{index}" if index else base
