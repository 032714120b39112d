"""The part of the native code that waits and wakes: clock, futex, signals, as LLVM IR text.

A signal is {0 i64 value, the futex being its low half · 8 i32 waiters}. Every sleeper announces
itself, re-checks, then waits on the futex; every waker changes the word first and looks for
sleepers after (sequentially consistent), so no wake-up is lost.
"""

from __future__ import annotations

from typing import Final

# system call number of futex (Linux, asm/unistd.h)
_FUTEX: Final = {"x86_64": 202, "aarch64": 98}
# the hint that eases a spinning core: declaration and call
_PAUSE: Final = {
    "x86_64": ("@llvm.x86.sse2.pause()", "@llvm.x86.sse2.pause()"),
    "aarch64": ("@llvm.aarch64.hint(i32)", "@llvm.aarch64.hint(i32 1)"),  # 1 is yield
}


def supported(arch: str) -> bool:
    """Whether waiting is written for this architecture."""
    return arch in _FUTEX


def futex_call(arch: str) -> int:
    """The number of the futex system call."""
    return _FUTEX[arch]


def waiting_source(arch: str) -> str:
    """Functions on which the rest of the native code stands."""
    declared, called = _PAUSE[arch]
    text = _SOURCE.replace("$FUTEX", str(_FUTEX[arch]))
    return text.replace("$DECLARE_PAUSE", declared).replace("$PAUSE", called)


_SOURCE: Final = """
declare i64 @syscall(i64, ...)
declare i32 @clock_gettime(i32, ptr)
declare ptr @memmove(ptr, ptr, i64)
declare i32 @sched_yield()
declare void $DECLARE_PAUSE

define internal void @pause() alwaysinline {
  call void $PAUSE
  ret void
}

; one step of a wait: ease the core, and now and then let another thread have it, as the one that is
; waited for may be queued on this very core
define internal void @relax(i32 %spins) {
  %low = and i32 %spins, 31
  %turn = icmp eq i32 %low, 31
  br i1 %turn, label %yield, label %ease
yield:
  %r = call i32 @sched_yield()
  ret void
ease:
  call void @pause()
  ret void
}

; FUTEX_WAIT_PRIVATE = 128, FUTEX_WAKE_PRIVATE = 129; timeout may be null
define internal void @futex_wait(ptr %word, i32 %seen, ptr %timeout) noinline {
  %r = call i64 (i64, ...) @syscall(i64 $FUTEX, ptr %word, i64 128, i32 %seen, ptr %timeout,
                                    ptr null, i64 0)
  ret void
}

define internal void @futex_wake(ptr %word, i32 %number) noinline {
  %r = call i64 (i64, ...) @syscall(i64 $FUTEX, ptr %word, i64 129, i32 %number, ptr null,
                                    ptr null, i64 0)
  ret void
}

; CLOCK_MONOTONIC = 1, in nanoseconds
define i64 @tg_now() {
  %time = alloca [2 x i64], align 16
  %r = call i32 @clock_gettime(i32 1, ptr %time)
  %s = load i64, ptr %time, align 8
  %np = getelementptr i8, ptr %time, i64 8
  %n = load i64, ptr %np, align 8
  %sn = mul i64 %s, 1000000000
  %t = add i64 %sn, %n
  ret i64 %t
}

define internal void @raise_signal(ptr %signal, i64 %value) noinline {
  store atomic i64 %value, ptr %signal seq_cst, align 8
  %waiters.p = getelementptr i8, ptr %signal, i64 8
  %waiters = load atomic i32, ptr %waiters.p seq_cst, align 4
  %someone = icmp ne i32 %waiters, 0
  br i1 %someone, label %wake, label %out
wake:
  call void @futex_wake(ptr %signal, i32 2147483647)
  br label %out
out:
  ret void
}

; true when the signal has reached the value, false after %timeout nanoseconds (negative: never)
define i32 @tg_wait(ptr %signal, i64 %value, i64 %timeout, i32 %patience) {
entry:
  %span = alloca [2 x i64], align 16
  %waiters.p = getelementptr i8, ptr %signal, i64 8
  br label %look
look:
  %spins = phi i32 [ 0, %entry ], [ %spins.next, %spin ]
  %v = load atomic i64, ptr %signal acquire, align 8
  %reached = icmp sge i64 %v, %value
  br i1 %reached, label %yes, label %more
more:
  %patient = icmp ult i32 %spins, %patience
  br i1 %patient, label %spin, label %sleep
spin:
  call void @relax(i32 %spins)
  %spins.next = add i32 %spins, 1
  br label %look
sleep:
  %start = call i64 @tg_now()
  %end = add i64 %start, %timeout
  %forever = icmp slt i64 %timeout, 0
  %seconds = sdiv i64 %timeout, 1000000000
  %rest = srem i64 %timeout, 1000000000
  store i64 %seconds, ptr %span, align 8
  %rest.p = getelementptr i8, ptr %span, i64 8
  store i64 %rest, ptr %rest.p, align 8
  %limit = select i1 %forever, ptr null, ptr %span
  br label %announce
announce:
  %w0 = atomicrmw add ptr %waiters.p, i32 1 seq_cst, align 4
  %v2 = load atomic i64, ptr %signal seq_cst, align 8
  %reached2 = icmp sge i64 %v2, %value
  br i1 %reached2, label %awake, label %block
block:
  %low = trunc i64 %v2 to i32
  call void @futex_wait(ptr %signal, i32 %low, ptr %limit)
  br label %awake
awake:
  %w1 = atomicrmw sub ptr %waiters.p, i32 1 seq_cst, align 4
  %v3 = load atomic i64, ptr %signal acquire, align 8
  %reached3 = icmp sge i64 %v3, %value
  br i1 %reached3, label %yes, label %late
late:
  br i1 %forever, label %announce, label %clock
clock:
  %now = call i64 @tg_now()
  %over = icmp sge i64 %now, %end
  br i1 %over, label %no, label %announce
yes:
  ret i32 1
no:
  ret i32 0
}
"""
