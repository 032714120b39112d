"""The renderer of a target."""

from __future__ import annotations

import pytest
from tg_codegen.errors import UnsupportedError
from tg_codegen.render.registry import renderer_for, renderer_names
from tg_uop.target import Target


@pytest.mark.parametrize(
    ("target", "name"),
    [
        (Target("CPU"), "LLVM"),
        (Target("CPU", "LLVM", "x86_64,znver2"), "LLVM"),
        (Target("CPU", "CLANG"), "CLANG"),
        (Target("PYTHON"), "PYTHON"),
        (Target("NULL"), "LLVM"),
        (Target("NULL", "CLANG"), "CLANG"),
        (Target("NULL", "PYTHON"), "PYTHON"),
    ],
)
def test_target_finds_its_renderer(target: Target, name: str) -> None:
    renderer = renderer_for(target)
    assert renderer.name == name
    assert renderer.device == target.device
    assert renderer.compiler is None


def test_unknown_names_list_what_there_is() -> None:
    with pytest.raises(UnsupportedError, match="LLVM, CLANG"):
        renderer_for(Target("CPU", "PTX"))
    with pytest.raises(UnsupportedError, match="CPU"):
        renderer_for(Target("TOASTER"))


def test_null_offers_every_renderer() -> None:
    assert set(renderer_names("CPU")) <= set(renderer_names("NULL"))
    assert "PYTHON" in renderer_names("NULL")


def test_compiler_is_carried() -> None:
    def compile_(source: str) -> bytes:
        return source.encode()

    assert renderer_for(Target("CPU"), compile_).compiler is compile_
