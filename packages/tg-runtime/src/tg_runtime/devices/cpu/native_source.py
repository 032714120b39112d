"""The native command processor as LLVM IR text: the loops that run command buffers.

Three kinds of threads run this code without the interpreter lock. A *processor* thread belongs to
one queue and drains it. *Helper* threads are shared by all queues and take parts of kernels with
more than one core id. Any Python thread may drain a queue inline (`tg_submit`) or wait on a signal
(`tg_wait`).

Layout of the records, in bytes (the Python side is `native.py`):

  pool    0 i32 epoch (futex) · 4 i32 sleeping helpers · 64 i32 stop · 68 i32 live threads
          72 i32 number of queues · 76 i32 spins of a helper before it sleeps · 128 ptr queues[64]
  queue   0 i64 tail · 8 i32 doorbell (futex) · 12 i32 processor sleeps · 16 i32 stop
          20 i32 spins of the processor before it sleeps · 24 ptr pool
          32 i64 value that the signal at the end of the last command buffer raises
          64 i64 head · 72 i32 owner
          128 i64 ticket · 136 i64 function · 144 i64 arguments
          192 i32 done (futex) · 196 i32 someone waits for done
          256 ring of 1024 entries {i64 commands, i64 number}
  signal  0 i64 value (futex on the low half) · 8 i32 waiters

Sharing a kernel: the ticket holds generation << 32 | high << 16 | low; core ids low..high-1 are
free. The owner of the queue takes from below, helpers from above, each by compare-and-swap, so that
equal parts meet the same thread in every kernel where the timing allows. Function and arguments are
written only while nothing is free and the generation changes with them, therefore a successful swap
proves that what was read before it belongs together.
"""

from __future__ import annotations

from typing import Final

from tg_runtime.devices.cpu.native_waiting import waiting_source

RING_ENTRIES: Final = 1024
MAX_QUEUES: Final = 64


def native_source(arch: str) -> str:
    """The module as LLVM IR."""
    return waiting_source(arch) + _SOURCE


_SOURCE: Final = """
; take the lowest (%up) or highest free core id of the queue's kernel and run it; false when none is
define internal i1 @take_part(ptr %queue, i1 %up) {
entry:
  %ticket.p = getelementptr i8, ptr %queue, i64 128
  %fn.p = getelementptr i8, ptr %queue, i64 136
  %args.p = getelementptr i8, ptr %queue, i64 144
  %done.p = getelementptr i8, ptr %queue, i64 192
  %waiter.p = getelementptr i8, ptr %queue, i64 196
  br label %try
try:
  %t = load atomic i64, ptr %ticket.p acquire, align 8
  %low = and i64 %t, 65535
  %t16 = lshr i64 %t, 16
  %high = and i64 %t16, 65535
  %free = icmp ult i64 %low, %high
  br i1 %free, label %swap, label %none
swap:
  %fn = load atomic i64, ptr %fn.p monotonic, align 8
  %args = load atomic i64, ptr %args.p monotonic, align 8
  %t.up = add i64 %t, 1
  %t.down = sub i64 %t, 65536
  %t.new = select i1 %up, i64 %t.up, i64 %t.down
  %pair = cmpxchg ptr %ticket.p, i64 %t, i64 %t.new seq_cst seq_cst, align 8
  %won = extractvalue { i64, i1 } %pair, 1
  br i1 %won, label %run, label %try
run:
  %last = sub i64 %high, 1
  %core = select i1 %up, i64 %low, i64 %last
  %fn.ptr = inttoptr i64 %fn to ptr
  %args.ptr = inttoptr i64 %args to ptr
  call void %fn.ptr(ptr %args.ptr, i64 %core)
  %before = atomicrmw add ptr %done.p, i32 1 seq_cst, align 4
  %waiter = load atomic i32, ptr %waiter.p seq_cst, align 4
  %waits = icmp ne i32 %waiter, 0
  br i1 %waits, label %wake, label %ok
wake:
  call void @futex_wake(ptr %done.p, i32 1)
  br label %ok
ok:
  ret i1 true
none:
  ret i1 false
}

; run a kernel with several core ids, shared with the helpers
define internal void @run_shared(ptr %queue, i64 %fn, i64 %args, i64 %cores) noinline {
entry:
  %pool.p = getelementptr i8, ptr %queue, i64 24
  %pool = load ptr, ptr %pool.p, align 8
  %ticket.p = getelementptr i8, ptr %queue, i64 128
  %fn.p = getelementptr i8, ptr %queue, i64 136
  %args.p = getelementptr i8, ptr %queue, i64 144
  %done.p = getelementptr i8, ptr %queue, i64 192
  %waiter.p = getelementptr i8, ptr %queue, i64 196
  store atomic i64 %fn, ptr %fn.p monotonic, align 8
  store atomic i64 %args, ptr %args.p monotonic, align 8
  store atomic i32 0, ptr %done.p monotonic, align 4
  %t.old = load atomic i64, ptr %ticket.p monotonic, align 8
  %gen.old = lshr i64 %t.old, 32
  %gen = add i64 %gen.old, 1
  %gen.high = shl i64 %gen, 32
  %cores.high = shl i64 %cores, 16
  %t = or i64 %gen.high, %cores.high
  store atomic i64 %t, ptr %ticket.p seq_cst, align 8
  %epoch.old = atomicrmw add ptr %pool, i32 1 seq_cst, align 4
  %sleepers.p = getelementptr i8, ptr %pool, i64 4
  %sleepers = load atomic i32, ptr %sleepers.p seq_cst, align 4
  %asleep = icmp ne i32 %sleepers, 0
  br i1 %asleep, label %wake, label %work
wake:
  %cores32 = trunc i64 %cores to i32
  %wanted = sub i32 %cores32, 1
  call void @futex_wake(ptr %pool, i32 %wanted)
  br label %work
work:
  %did = call i1 @take_part(ptr %queue, i1 true)
  br i1 %did, label %work, label %wait
wait:
  %spins = phi i32 [ 0, %work ], [ %spins.next, %spin ]
  %done = load atomic i32, ptr %done.p acquire, align 4
  %done64 = zext i32 %done to i64
  %all = icmp eq i64 %done64, %cores
  br i1 %all, label %out, label %more
more:
  %patient = icmp ult i32 %spins, 2000
  br i1 %patient, label %spin, label %sleep
spin:
  call void @relax(i32 %spins)
  %spins.next = add i32 %spins, 1
  br label %wait
sleep:
  store atomic i32 1, ptr %waiter.p seq_cst, align 4
  br label %sleep.check
sleep.check:
  %done2 = load atomic i32, ptr %done.p seq_cst, align 4
  %done2.64 = zext i32 %done2 to i64
  %all2 = icmp eq i64 %done2.64, %cores
  br i1 %all2, label %awake, label %sleep.wait
sleep.wait:
  call void @futex_wait(ptr %done.p, i32 %done2, ptr null)
  br label %sleep.check
awake:
  store atomic i32 0, ptr %waiter.p seq_cst, align 4
  br label %out
out:
  ret void
}

define internal void @run_commands(ptr %queue, i64 %address, i64 %number) {
entry:
  %first = inttoptr i64 %address to ptr
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i.next, %next ]
  %more = icmp ult i64 %i, %number
  br i1 %more, label %body, label %out
body:
  %at = shl i64 %i, 5
  %cmd = getelementptr i8, ptr %first, i64 %at
  %head = load i64, ptr %cmd, align 8
  %a.p = getelementptr i8, ptr %cmd, i64 8
  %b.p = getelementptr i8, ptr %cmd, i64 16
  %c.p = getelementptr i8, ptr %cmd, i64 24
  %a = load i64, ptr %a.p, align 8
  %b = load i64, ptr %b.p, align 8
  %c = load i64, ptr %c.p, align 8
  %a.ptr = inttoptr i64 %a to ptr
  %b.ptr = inttoptr i64 %b to ptr
  %opcode = trunc i64 %head to i32
  switch i32 %opcode, label %next [
    i32 1, label %exec
    i32 2, label %signal
    i32 3, label %wait
    i32 4, label %stamp
    i32 5, label %copy
    i32 6, label %barrier
  ]
exec:
  %stamped = icmp ne i64 %c, 0
  br i1 %stamped, label %exec.start, label %exec.go
exec.start:
  %start = call i64 @tg_now()
  %c.ptr = inttoptr i64 %c to ptr
  store i64 %start, ptr %c.ptr, align 8
  br label %exec.go
exec.go:
  %cores = lshr i64 %head, 32
  %shared = icmp ugt i64 %cores, 1
  br i1 %shared, label %exec.shared, label %exec.one
exec.shared:
  call void @run_shared(ptr %queue, i64 %a, i64 %b, i64 %cores)
  br label %exec.end
exec.one:
  call void %a.ptr(ptr %b.ptr, i64 0)
  br label %exec.end
exec.end:
  br i1 %stamped, label %exec.stamp, label %next
exec.stamp:
  %end = call i64 @tg_now()
  %c.ptr2 = inttoptr i64 %c to ptr
  %end.p = getelementptr i8, ptr %c.ptr2, i64 8
  store i64 %end, ptr %end.p, align 8
  br label %next
signal:
  call void @raise_signal(ptr %a.ptr, i64 %b)
  br label %next
wait:
  %reached = call i32 @tg_wait(ptr %a.ptr, i64 %b, i64 -1, i32 1000)
  br label %next
stamp:
  %now = call i64 @tg_now()
  store i64 %now, ptr %a.ptr, align 8
  br label %next
copy:
  %moved = call ptr @memmove(ptr %a.ptr, ptr %b.ptr, i64 %c)
  br label %next
barrier:
  fence seq_cst
  br label %next
next:
  %i.next = add i64 %i, 1
  br label %loop
out:
  ret void
}

; run the entries before %limit, unless another thread is at it: that one looks again afterwards
define internal void @drain(ptr %queue, i64 %limit) {
entry:
  %head.p = getelementptr i8, ptr %queue, i64 64
  %owner.p = getelementptr i8, ptr %queue, i64 72
  %ring = getelementptr i8, ptr %queue, i64 256
  br label %again
again:
  %head0 = load atomic i64, ptr %head.p seq_cst, align 8
  %tail0 = load atomic i64, ptr %queue seq_cst, align 8
  %empty0 = icmp eq i64 %head0, %tail0
  %past0 = icmp sge i64 %head0, %limit
  %stop0 = or i1 %empty0, %past0
  br i1 %stop0, label %out, label %lock
lock:
  %pair = cmpxchg ptr %owner.p, i32 0, i32 1 seq_cst seq_cst, align 4
  %won = extractvalue { i32, i1 } %pair, 1
  br i1 %won, label %loop, label %out
loop:
  %head = load atomic i64, ptr %head.p monotonic, align 8
  %tail = load atomic i64, ptr %queue acquire, align 8
  %empty = icmp eq i64 %head, %tail
  %past = icmp sge i64 %head, %limit
  %stop = or i1 %empty, %past
  br i1 %stop, label %unlock, label %run
run:
  %slot = and i64 %head, 1023
  %slot.at = shl i64 %slot, 4
  %entry.p = getelementptr i8, ptr %ring, i64 %slot.at
  %number.p = getelementptr i8, ptr %entry.p, i64 8
  %commands = load i64, ptr %entry.p, align 8
  %number = load i64, ptr %number.p, align 8
  call void @run_commands(ptr %queue, i64 %commands, i64 %number)
  %head.next = add i64 %head, 1
  store atomic i64 %head.next, ptr %head.p seq_cst, align 8
  br label %loop
unlock:
  store atomic i32 0, ptr %owner.p seq_cst, align 4
  br label %again
out:
  ret void
}

define internal void @ring_doorbell(ptr %queue) {
  %bell.p = getelementptr i8, ptr %queue, i64 8
  %sleeps.p = getelementptr i8, ptr %queue, i64 12
  %old = atomicrmw add ptr %bell.p, i32 1 seq_cst, align 4
  %sleeps = load atomic i32, ptr %sleeps.p seq_cst, align 4
  %asleep = icmp ne i32 %sleeps, 0
  br i1 %asleep, label %wake, label %out
wake:
  call void @futex_wake(ptr %bell.p, i32 1)
  br label %out
out:
  ret void
}

; append a command buffer, whose last command is a signal; callers take turns.
; %inline: run it here when the queue is idle.
; Gives 1 when it ran here, 0 when it will run elsewhere, -1 when there is no room for it.
define i32 @tg_submit(ptr %queue, i64 %commands, i64 %number, i32 %inline) {
entry:
  %head.p = getelementptr i8, ptr %queue, i64 64
  %tail = load atomic i64, ptr %queue monotonic, align 8
  %head = load atomic i64, ptr %head.p acquire, align 8
  %used = sub i64 %tail, %head
  %full = icmp sge i64 %used, 1024
  br i1 %full, label %refused, label %write
refused:
  ret i32 -1
write:
  %slot = and i64 %tail, 1023
  %slot.at = shl i64 %slot, 4
  %ring = getelementptr i8, ptr %queue, i64 256
  %entry.p = getelementptr i8, ptr %ring, i64 %slot.at
  %number.p = getelementptr i8, ptr %entry.p, i64 8
  store i64 %commands, ptr %entry.p, align 8
  store i64 %number, ptr %number.p, align 8
  %last = sub i64 %number, 1
  %last.at = shl i64 %last, 5
  %last.address = add i64 %commands, %last.at
  %last.value.address = add i64 %last.address, 16
  %last.value.p = inttoptr i64 %last.value.address to ptr
  %last.value = load i64, ptr %last.value.p, align 8
  %submitted.p = getelementptr i8, ptr %queue, i64 32
  store i64 %last.value, ptr %submitted.p, align 8
  %tail.next = add i64 %tail, 1
  store atomic i64 %tail.next, ptr %queue seq_cst, align 8
  %wanted = icmp ne i32 %inline, 0
  %idle = icmp eq i64 %used, 0
  %here = and i1 %wanted, %idle
  br i1 %here, label %run, label %hand
run:
  call void @drain(ptr %queue, i64 %tail.next)
  %head2 = load atomic i64, ptr %head.p seq_cst, align 8
  %tail2 = load atomic i64, ptr %queue seq_cst, align 8
  %rest = icmp ne i64 %head2, %tail2
  br i1 %rest, label %hand2, label %ran
hand2:
  call void @ring_doorbell(ptr %queue)
  %mine = icmp sge i64 %head2, %tail.next
  %mine32 = zext i1 %mine to i32
  ret i32 %mine32
ran:
  ret i32 1
hand:
  call void @ring_doorbell(ptr %queue)
  ret i32 0
}

define ptr @tg_processor(ptr %queue) {
entry:
  %bell.p = getelementptr i8, ptr %queue, i64 8
  %sleeps.p = getelementptr i8, ptr %queue, i64 12
  %stop.p = getelementptr i8, ptr %queue, i64 16
  %patience.p = getelementptr i8, ptr %queue, i64 20
  %pool.p = getelementptr i8, ptr %queue, i64 24
  %pool = load ptr, ptr %pool.p, align 8
  %live.p = getelementptr i8, ptr %pool, i64 68
  br label %loop
loop:
  %bell = load atomic i32, ptr %bell.p seq_cst, align 4
  call void @drain(ptr %queue, i64 9223372036854775807)
  %stop = load atomic i32, ptr %stop.p acquire, align 4
  %stopping = icmp ne i32 %stop, 0
  br i1 %stopping, label %out, label %wait
wait:
  %patience = load i32, ptr %patience.p, align 4
  br label %spin
spin:
  %spins = phi i32 [ 0, %wait ], [ %spins.next, %spin.more ]
  %bell2 = load atomic i32, ptr %bell.p acquire, align 4
  %rang = icmp ne i32 %bell2, %bell
  br i1 %rang, label %loop, label %spin.check
spin.check:
  %patient = icmp ult i32 %spins, %patience
  br i1 %patient, label %spin.more, label %sleep
spin.more:
  call void @relax(i32 %spins)
  %spins.next = add i32 %spins, 1
  br label %spin
sleep:
  store atomic i32 1, ptr %sleeps.p seq_cst, align 4
  %bell3 = load atomic i32, ptr %bell.p seq_cst, align 4
  %still = icmp eq i32 %bell3, %bell
  br i1 %still, label %block, label %awake
block:
  call void @futex_wait(ptr %bell.p, i32 %bell, ptr null)
  br label %awake
awake:
  store atomic i32 0, ptr %sleeps.p seq_cst, align 4
  br label %loop
out:
  %l = atomicrmw sub ptr %live.p, i32 1 seq_cst, align 4
  ret ptr null
}

define ptr @tg_helper(ptr %pool) {
entry:
  %sleepers.p = getelementptr i8, ptr %pool, i64 4
  %stop.p = getelementptr i8, ptr %pool, i64 64
  %live.p = getelementptr i8, ptr %pool, i64 68
  %count.p = getelementptr i8, ptr %pool, i64 72
  %patience.p = getelementptr i8, ptr %pool, i64 76
  %queues = getelementptr i8, ptr %pool, i64 128
  br label %loop
loop:
  %epoch = load atomic i32, ptr %pool seq_cst, align 4
  %stop = load atomic i32, ptr %stop.p acquire, align 4
  %stopping = icmp ne i32 %stop, 0
  br i1 %stopping, label %out, label %scan
scan:
  %count = load atomic i32, ptr %count.p acquire, align 4
  br label %each
each:
  %i = phi i32 [ 0, %scan ], [ %i.next, %each.next ]
  %did = phi i1 [ false, %scan ], [ %did.now, %each.next ]
  %in = icmp ult i32 %i, %count
  br i1 %in, label %help, label %scanned
help:
  %i64 = zext i32 %i to i64
  %at = shl i64 %i64, 3
  %q.p = getelementptr i8, ptr %queues, i64 %at
  %q = load atomic ptr, ptr %q.p acquire, align 8
  br label %parts
parts:
  %did.now = phi i1 [ %did, %help ], [ true, %parts ]
  %part = call i1 @take_part(ptr %q, i1 false)
  br i1 %part, label %parts, label %each.next
each.next:
  %i.next = add i32 %i, 1
  br label %each
scanned:
  br i1 %did, label %loop, label %wait
wait:
  %patience = load i32, ptr %patience.p, align 4
  br label %spin
spin:
  %spins = phi i32 [ 0, %wait ], [ %spins.next, %spin.more ]
  %epoch2 = load atomic i32, ptr %pool acquire, align 4
  %changed = icmp ne i32 %epoch2, %epoch
  br i1 %changed, label %loop, label %spin.check
spin.check:
  %patient = icmp ult i32 %spins, %patience
  br i1 %patient, label %spin.more, label %sleep
spin.more:
  call void @relax(i32 %spins)
  %spins.next = add i32 %spins, 1
  br label %spin
sleep:
  %s0 = atomicrmw add ptr %sleepers.p, i32 1 seq_cst, align 4
  call void @futex_wait(ptr %pool, i32 %epoch, ptr null)
  %s1 = atomicrmw sub ptr %sleepers.p, i32 1 seq_cst, align 4
  br label %loop
out:
  %l = atomicrmw sub ptr %live.p, i32 1 seq_cst, align 4
  ret ptr null
}
"""
