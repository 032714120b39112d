target triple = "x86_64-unknown-linux-gnu"
define internal void @threads_and_variable.body(ptr noalias %data0, ptr noalias %data1, i64 %var0, i64 %core_id) #0 {
entry:
  %v1 = trunc i64 %core_id to i32
  %v2 = mul nsw i32 %v1, 32
  %v3 = trunc i64 %var0 to i32
  %v4 = sitofp i32 %v3 to float
  br label %loop5
loop5:
  %v6 = phi i32 [ 0, %entry ], [ %next5, %latch5 ]
  %v7 = add nsw i32 %v2, %v6
  %v8 = getelementptr inbounds float, ptr %data0, i32 %v7
  %v9 = getelementptr inbounds float, ptr %data1, i32 %v7
  %v10 = load float, ptr %v9, align 4
  %v11 = fadd float %v10, %v4
  store float %v11, ptr %v8, align 4
  br label %latch5
latch5:
  %next5 = add nuw nsw i32 %v6, 1
  %v12 = icmp slt i32 %next5, %v3
  br i1 %v12, label %loop5, label %done5, !llvm.loop !2
done5:
  ret void
}
define void @threads_and_variable(ptr %args, i64 %core_id) #1 {
  %data0.at = getelementptr inbounds i64, ptr %args, i64 0
  %data0 = load ptr, ptr %data0.at, align 8
  %data1.at = getelementptr inbounds i64, ptr %args, i64 1
  %data1 = load ptr, ptr %data1.at, align 8
  %var0.at = getelementptr inbounds i64, ptr %args, i64 2
  %var0 = load i64, ptr %var0.at, align 8
  call void @threads_and_variable.body(ptr %data0, ptr %data1, i64 %var0, i64 %core_id)
  ret void
}
attributes #0 = { alwaysinline nounwind "no-builtins" "prefer-vector-width"="512" }
attributes #1 = { nounwind "no-builtins" "prefer-vector-width"="512" }
!2 = distinct !{!2}
