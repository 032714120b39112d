target triple = "x86_64-unknown-linux-gnu"
define internal void @scalar_sum.body(ptr noalias %data0, ptr noalias %data1, i64 %core_id) #0 {
entry:
  %acc1 = alloca [1 x float], align 64
  store float 0x0000000000000000, ptr %acc1, align 4
  br label %loop2
loop2:
  %v3 = phi i32 [ 0, %entry ], [ %next2, %latch2 ]
  %v4 = load float, ptr %acc1, align 4
  %v5 = getelementptr inbounds float, ptr %data1, i32 %v3
  %v6 = load float, ptr %v5, align 4
  %v7 = fadd float %v4, %v6
  store float %v7, ptr %acc1, align 4
  br label %latch2
latch2:
  %next2 = add nuw nsw i32 %v3, 1
  %v8 = icmp slt i32 %next2, 64
  br i1 %v8, label %loop2, label %done2, !llvm.loop !2
done2:
  %v9 = load float, ptr %acc1, align 4
  store float %v9, ptr %data0, align 4
  ret void
}
define void @scalar_sum(ptr %args, i64 %core_id) #1 {
  %data0.at = getelementptr inbounds i64, ptr %args, i64 0
  %data0 = load ptr, ptr %data0.at, align 8
  %data1.at = getelementptr inbounds i64, ptr %args, i64 1
  %data1 = load ptr, ptr %data1.at, align 8
  call void @scalar_sum.body(ptr %data0, ptr %data1, i64 %core_id)
  ret void
}
attributes #0 = { alwaysinline nounwind "no-builtins" "prefer-vector-width"="512" }
attributes #1 = { nounwind "no-builtins" "prefer-vector-width"="512" }
!2 = distinct !{!2}
