"""A processor that LLVM does not know is compiled for as the baseline, not as the end of Python."""

from __future__ import annotations

from tg_runtime.compile.llvm import compiler_for

SOURCE = """target triple = "x86_64-unknown-linux-gnu"
define void @nothing(ptr %args, i64 %core_id) {
  ret void
}
"""


def test_an_unknown_processor_is_the_baseline():
    assert compiler_for("x86_64", "no-such-processor", ()).compile(SOURCE)[:4] == b"\x7fELF"
