"""Which kernels get LLVM's short list of passes, and what it does to them."""

from __future__ import annotations

import pytest
from tg_runtime import Buffer, Device
from tg_runtime.compile.llvm import LLVMCompiler
from tg_runtime.compile.llvm_passes import FEW_STEPS, MOST_ARGUMENTS, is_plain_kernel
from tg_runtime.host.processor import machine
from tg_uop import ProgramInfo, dtypes

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
  %more = icmp slt i32 %next, 6400
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

GATES = f"""
define internal void @gates.body(ptr noalias %data0, i64 %core_id) #0 {{
entry:
  br label %outer
outer:
  %a = phi i32 [ 0, %entry ], [ %a.next, %outer.end ]
  %a.shifted = add nsw i32 %a, -1
  %was = icmp ult i32 %a.shifted, 4
  %is = icmp ult i32 %a, 4
  %row = mul nsw i32 %a, 4
  br label %inner
inner:
  %b = phi i32 [ 0, %outer ], [ %b.next, %inner ]
  %first = icmp eq i32 %b, 0
  %x = and i1 %was, %first
  %y = and i1 %is, %first
  %x.v1 = insertelement <2 x i1> poison, i1 %x, i64 0
  %x.v = insertelement <2 x i1> %x.v1, i1 %y, i64 1
  %x.b = zext <2 x i1> %x.v to <2 x i8>
  %b2 = mul nsw i32 %b, 2
  %at = add nsw i32 %row, %b2
  %to = getelementptr inbounds i8, ptr %data0, i32 %at
  store <2 x i8> %x.b, ptr %to, align 1
  %b.next = add nuw nsw i32 %b, 1
  %b.more = icmp slt i32 %b.next, 2
  br i1 %b.more, label %inner, label %outer.end, !llvm.loop !1
outer.end:
  %a.next = add nuw nsw i32 %a, 1
  %a.more = icmp slt i32 %a.next, 6
  br i1 %a.more, label %outer, label %done, !llvm.loop !2
done:
  ret void
}}
define void @gates(ptr %args, i64 %core_id) #1 {{
  %data0.at = getelementptr inbounds i64, ptr %args, i64 0
  %data0 = load ptr, ptr %data0.at, align 8
  call void @gates.body(ptr %data0, i64 %core_id)
  ret void
}}
attributes #0 = {{ alwaysinline nounwind }}
attributes #1 = {{ nounwind }}
{LOOP}
!1 = distinct !{{!1, !0}}
!2 = distinct !{{!2, !0}}
"""


def test_the_short_list_is_for_kernels_whose_loops_are_as_they_should_be() -> None:
    """Conditions of all lanes and many arguments are for the full list, as is all else."""
    assert is_plain_kernel(KERNEL)
    assert not is_plain_kernel(KERNEL.replace(LOOP, ""))
    assert not is_plain_kernel(KERNEL + "%p = select i1 %c, ptr %a, ptr %b")
    many = "%data9.at = getelementptr inbounds i64, ptr %args, i64 9\n" * MOST_ARGUMENTS
    assert not is_plain_kernel(KERNEL + many)


def test_the_short_list_is_for_what_runs_few_steps() -> None:
    """Whatever these are: LLVM would take longer than it saves."""
    scalar = KERNEL.replace(LOOP, "").replace("slt i32 %next, 6400", f"slt i32 %next, {FEW_STEPS}")
    assert is_plain_kernel(scalar)
    assert not is_plain_kernel(scalar.replace(f"%next, {FEW_STEPS}", f"%next, {FEW_STEPS + 1}"))
    assert not is_plain_kernel(scalar.replace(f"%next, {FEW_STEPS}", "%next, %length"))
    straight = "define void @one(ptr %args) {\n  store i32 1, ptr %args\n  ret void\n}"
    assert is_plain_kernel(straight)


@pytest.mark.parametrize("source", [KERNEL, KERNEL.replace(LOOP, '!0 = !{!"llvm.loop.unroll"}')])
def test_accumulators_become_registers(source: str) -> None:
    """With either list: the body is in its caller, and nothing goes over the stack."""
    assembly = LLVMCompiler("x86_64", "", ("avx2",)).assembly(source)
    assert "vaddps" in assembly
    assert "call" not in assembly
    assert "rsp" not in assembly


def test_conditions_in_nested_loops_keep_their_meaning() -> None:
    """Each is of its own step, also where the one beside it says the same of the step before."""
    assert is_plain_kernel(GATES)
    out = Buffer("CPU", 24, dtypes.uint8, initial_value=bytes(24))
    binary = LLVMCompiler(machine()).compile(GATES)
    Device["CPU"].runtime(ProgramInfo("gates", globals=(0,)), binary)(out.memory, wait=True)
    wanted = [(b == 0 and 1 <= a < 5, b == 0 and a < 4) for a in range(6) for b in range(2)]
    assert list(out.as_memoryview()) == [int(gate) for pair in wanted for gate in pair]
