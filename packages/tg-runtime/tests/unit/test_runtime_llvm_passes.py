"""Which kernels get LLVM's short list of passes, and what it does to them."""

from __future__ import annotations

import pytest
from tg_runtime.compile.llvm import LLVMCompiler
from tg_runtime.compile.llvm_passes import MOST_ARGUMENTS, is_plain_kernel

LOOP = '!0 = !{!"llvm.loop.unroll.disable"}'

KERNEL = f"""
define internal void @sum.body(ptr noalias %data0, ptr noalias %data1, i64 %core_id) #0 {{
entry:
  %acc = alloca [1 x <8 x float>], align 64
  store <8 x float> zeroinitializer, ptr %acc, align 4
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %at = mul nsw i32 %i, 8
  %from = getelementptr inbounds float, ptr %data1, i32 %at
  %x = load <8 x float>, ptr %from, align 4
  %before = load <8 x float>, ptr %acc, align 4
  %after = fadd <8 x float> %before, %x
  store <8 x float> %after, ptr %acc, align 4
  %next = add nuw nsw i32 %i, 1
  %more = icmp slt i32 %next, 64
  br i1 %more, label %loop, label %done, !llvm.loop !1
done:
  %total = load <8 x float>, ptr %acc, align 4
  store <8 x float> %total, ptr %data0, align 4
  ret void
}}
define void @sum(ptr %args, i64 %core_id) #1 {{
  %data0.at = getelementptr inbounds i64, ptr %args, i64 0
  %data0 = load ptr, ptr %data0.at, align 8
  %data1.at = getelementptr inbounds i64, ptr %args, i64 1
  %data1 = load ptr, ptr %data1.at, align 8
  call void @sum.body(ptr %data0, ptr %data1, i64 %core_id)
  ret void
}}
attributes #0 = {{ alwaysinline nounwind }}
attributes #1 = {{ nounwind }}
{LOOP}
!1 = distinct !{{!1, !0}}
"""


def test_the_short_list_is_for_kernels_whose_loops_are_as_they_should_be() -> None:
    """Conditions of all lanes and many arguments are for the full list, as is all else."""
    assert is_plain_kernel(KERNEL)
    assert not is_plain_kernel(KERNEL.replace(LOOP, ""))
    assert not is_plain_kernel(KERNEL + "%p = select i1 %c, ptr %a, ptr %b")
    many = "%data9.at = getelementptr inbounds i64, ptr %args, i64 9\n" * MOST_ARGUMENTS
    assert not is_plain_kernel(KERNEL + many)


@pytest.mark.parametrize("source", [KERNEL, KERNEL.replace(LOOP, '!0 = !{!"llvm.loop.unroll"}')])
def test_accumulators_become_registers(source: str) -> None:
    """With either list: the body is in its caller, and nothing goes over the stack."""
    assembly = LLVMCompiler("x86_64", "", ("avx2",)).assembly(source)
    assert "vaddps" in assembly
    assert "call" not in assembly
    assert "rsp" not in assembly
