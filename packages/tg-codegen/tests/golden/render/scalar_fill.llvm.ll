target triple = "x86_64-unknown-linux-gnu"
define internal void @scalar_fill.body(ptr noalias %data0, i64 %core_id) #0 {
entry:
  br label %loop1
loop1:
  %v2 = phi i32 [ 0, %entry ], [ %next1, %latch1 ]
  %v3 = getelementptr inbounds float, ptr %data0, i32 %v2
  store float 0x0000000000000000, ptr %v3, align 4
  br label %latch1
latch1:
  %next1 = add nuw nsw i32 %v2, 1
  %v4 = icmp slt i32 %next1, 64
  br i1 %v4, label %loop1, label %done1, !llvm.loop !2
done1:
  ret void
}
define void @scalar_fill(ptr %args, i64 %core_id) #1 {
  %data0.at = getelementptr inbounds i64, ptr %args, i64 0
  %data0 = load ptr, ptr %data0.at, align 8
  call void @scalar_fill.body(ptr %data0, i64 %core_id)
  ret void
}
attributes #0 = { alwaysinline nounwind "no-builtins" "prefer-vector-width"="512" }
attributes #1 = { nounwind "no-builtins" "prefer-vector-width"="512" }
!2 = distinct !{!2}
