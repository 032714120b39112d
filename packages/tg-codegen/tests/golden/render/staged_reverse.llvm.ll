target triple = "x86_64-unknown-linux-gnu"
define internal void @staged_reverse.body(ptr noalias %data0, ptr noalias %data1, i64 %core_id) #0 {
entry:
  %local1 = alloca [8 x float], align 64
  br label %loop2
loop2:
  %v3 = phi i32 [ 0, %entry ], [ %next2, %latch2 ]
  %v4 = getelementptr inbounds float, ptr %local1, i32 %v3
  %v5 = getelementptr inbounds float, ptr %data1, i32 %v3
  %v6 = load float, ptr %v5, align 4
  store float %v6, ptr %v4, align 4
  br label %latch2
latch2:
  %next2 = add nuw nsw i32 %v3, 1
  %v7 = icmp slt i32 %next2, 8
  br i1 %v7, label %loop2, label %done2, !llvm.loop !2
done2:
  br label %loop8
loop8:
  %v9 = phi i32 [ 0, %done2 ], [ %next8, %latch8 ]
  %v10 = getelementptr inbounds float, ptr %data0, i32 %v9
  %v11 = sub nsw i32 7, %v9
  %v12 = getelementptr inbounds float, ptr %local1, i32 %v11
  %v13 = load float, ptr %v12, align 4
  store float %v13, ptr %v10, align 4
  br label %latch8
latch8:
  %next8 = add nuw nsw i32 %v9, 1
  %v14 = icmp slt i32 %next8, 8
  br i1 %v14, label %loop8, label %done8, !llvm.loop !3
done8:
  ret void
}
define void @staged_reverse(ptr %args, i64 %core_id) #1 {
  %data0.at = getelementptr inbounds i64, ptr %args, i64 0
  %data0 = load ptr, ptr %data0.at, align 8
  %data1.at = getelementptr inbounds i64, ptr %args, i64 1
  %data1 = load ptr, ptr %data1.at, align 8
  call void @staged_reverse.body(ptr %data0, ptr %data1, i64 %core_id)
  ret void
}
attributes #0 = { alwaysinline nounwind "no-builtins" "prefer-vector-width"="512" }
attributes #1 = { nounwind "no-builtins" "prefer-vector-width"="512" }
!2 = distinct !{!2}
!3 = distinct !{!3}
