"""Names and literals of the renderers: what is kept of them is bounded."""

from __future__ import annotations

from types import ModuleType

import pytest
from tg_codegen.render import c_types, llvm_types
from tg_uop import dtypes


@pytest.mark.parametrize("module", [c_types, llvm_types])
def test_literals_do_not_pile_up(module: ModuleType) -> None:
    assert module.scalar_literal(3, dtypes.int32) == "3"
    tables = [value for value in vars(module).values() if hasattr(value, "cache_info")]
    assert len(tables) >= 4
    for table in tables:
        assert table.cache_info().maxsize is not None, table.__name__
