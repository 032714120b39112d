"""The renderer of a target."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from tg_uop.target import Target

from tg_codegen.errors import UnsupportedError
from tg_codegen.render.renderer import Compile, Renderer

# device -> renderer name -> module, whose `make(target, compiler)` builds it; the first is the
# default. Modules are loaded when asked for, so that a program pays only for what it uses.
RENDERERS: dict[str, dict[str, str]] = {
    "CPU": {
        "LLVM": "tg_codegen.render.llvm",
        "CLANG": "tg_codegen.render.clang",
        "GCC": "tg_codegen.render.clang",
    },
    "PYTHON": {"PYTHON": "tg_codegen.render.python"},
}


def renderer_names(device: str) -> tuple[str, ...]:
    """The renderers for a device, the default first; for NULL, those of every device."""
    if device == "NULL":
        return tuple(dict.fromkeys(name for table in RENDERERS.values() for name in table))
    return tuple(RENDERERS.get(device, ()))


def renderer_for(target: Target, compiler: Compile | None = None) -> Renderer:
    """The renderer that `target` names, its device's default if it names none.

    NULL takes any renderer. Raises `UnsupportedError`, listing the renderers there are.
    """
    names = renderer_names(target.device)
    name = target.renderer or (names[0] if names else "")
    if name not in names:
        raise UnsupportedError(
            what=f"renderer {name!r}" if name else f"device {target.device!r}",
            target=str(target),
            reason=f"the renderers are {', '.join(names or RENDERERS)}",
        )
    module = import_module(_module_of(target.device, name))
    make: Callable[[Target, Compile | None], Renderer] = module.make
    return make(target, compiler)


def _module_of(device: str, name: str) -> str:
    if device in RENDERERS:
        return RENDERERS[device][name]
    return next(table[name] for table in RENDERERS.values() if name in table)
